// Reports from sums are those from samples, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/query/load/profile.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/sums_block.h"
#include "tailor/tag.h"
#include "tests/support/memory_output.h"

namespace tailor::query {
namespace {

using profile::How;
using profile::Reason;

constexpr TimeNs kStart = 1'000'000;
constexpr std::uint64_t kTagKey = 0xABCDEF;
// Groups of some hundred samples, whatever they cost.
constexpr store::EncoderOptions kSmallGroups = {
    .rows_per_block = 64,
    .sums = {.most_samples = 700, .least_samples = 1, .most_keys = 2000, .smaller_by = 0}};

profile::SampleRecord random_sample(std::mt19937_64& random, TimeNs time) {
  profile::SampleRecord s;
  s.time = time;
  s.process = {static_cast<std::int32_t>(7 + random() % 2), 9};
  s.tid = static_cast<std::int32_t>(random() % 3);
  s.source = static_cast<std::uint16_t>(random() % 2);
  s.mode = static_cast<profile::Mode>(random() % 3);
  s.weight = random() >> random() % 64;  // squares of it exceed 64 bits
  s.ip = 0x1000 + random() % 40;
  s.user_ip = 0x1000 + random() % 40;
  s.latency = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % 1000);
  s.data_source = random() % 3 == 0 ? random() : 0;
  s.address_from = static_cast<profile::AddressFrom>(random() % 3);
  s.skid = static_cast<std::uint8_t>(random() % 2);
  s.region = static_cast<std::uint32_t>(random() % 2);
  if (random() % 4 == 0) s.wait = static_cast<profile::Wait>(random() % profile::kWaits);
  s.engine_wait = static_cast<std::uint32_t>(random() % 2);
  profile::Attribution& a = s.attribution;
  a.execution = random() % 3;
  a.kernel = random() % 2 != 0;
  if (random() % 4 == 0) {
    a.reason = static_cast<Reason>(1 + random() % 7);
    s.has_tag = random() % 2 != 0;
    if (s.has_tag) s.tag = tailor_tag_make(kTagKey, 2, 0, static_cast<std::uint32_t>(1 + random() % 2), 0);
    return s;
  }
  a.how = static_cast<How>(1 + random() % 8);
  a.quality = static_cast<profile::Quality>(random() % 6);
  a.pipeline = static_cast<std::uint16_t>(random() % 2);
  a.level = static_cast<LevelIndex>(random() % 2);
  a.link = static_cast<std::uint32_t>(random() % 6);
  a.engine_component = static_cast<std::uint32_t>(random() % 2);
  a.plan = random() % 2;
  a.code = random() % 2;
  return s;
}

// `end` is called behind the samples.
std::string random_profile(std::uint32_t seed, const std::function<void(profile::ProfileSink&)>& end = {},
                           std::uint64_t fail_append = 0) {
  std::mt19937_64 random(seed);
  std::string bytes;
  auto output = std::make_unique<test::MemoryOutput>(bytes);
  output->fail_append = fail_append;
  auto writer = store::FileWriter::on(std::move(output), kSmallGroups);
  profile::RecordingInfo info;
  info.start = kStart;
  writer->on_recording(info);
  for (TimeNs i = 0; i < 3000; ++i) {
    const profile::SampleRecord s = random_sample(random, kStart + i);
    writer->on_samples(std::span(&s, 1));
    if (random() % 200 == 0) writer->flush();
  }
  if (end) end(*writer);
  const bool whole = writer->finish().ok();
  EXPECT_TRUE(whole || fail_append != 0);
  return bytes;
}

Profile load(const std::string& bytes, LoadOptions options, bool sums) {
  options.sums = sums;
  store::MemoryInput input(bytes);
  auto profile = Profile::load(input, options);
  EXPECT_TRUE(profile);
  return std::move(*profile);
}

bool same(const Cells& a, const Cells& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.samples == y.second.samples && x.second.weight == y.second.weight &&
           x.second.weight_squares == y.second.weight_squares && x.second.latency == y.second.latency &&
           x.second.latency_samples == y.second.latency_samples;
  });
}

bool same(const Profile& a, const Profile& b) {
  return same(a.cells(), b.cells()) && a.places() == b.places() && a.last_time() == b.last_time() &&
         a.read_report().samples == b.read_report().samples && b.read_report().clean() &&
         a.read_report().clean();
}

bool with_and_without(const std::string& bytes, const LoadOptions& options) {
  return same(load(bytes, options, true), load(bytes, options, false));
}

// The file, with what `change` makes of the payload of each block of that type.
std::string changed(const std::string& bytes, store::BlockType type,
                    const std::function<std::string(std::string)>& change) {
  store::MemoryInput input(bytes);
  store::ReadReport report;
  store::BlockReader reader(input, report);
  EXPECT_TRUE(reader.open());
  std::string out = bytes.substr(0, store::kFileHeaderSize);
  for (auto block = reader.next(); block && *block; block = reader.next()) {
    const store::BlockHeader& header = (*block)->header;
    const std::string& payload = (*block)->payload;
    out += store::make_block(header.type, header.sequence, header.type == type ? change(payload) : payload);
  }
  return out;
}

struct Place {
  std::size_t begin, payload, end;
};

std::vector<Place> places_of(const std::string& bytes, store::BlockType type) {
  store::MemoryInput input(bytes);
  store::ReadReport report;
  store::BlockReader reader(input, report);
  EXPECT_TRUE(reader.open());
  std::vector<Place> out;
  for (auto block = reader.next(); block && *block; block = reader.next()) {
    const std::size_t payload = (*block)->offset + store::kBlockHeaderSize;
    if ((*block)->header.type == type)
      out.push_back({(*block)->offset, payload, payload + (*block)->header.stored_size});
  }
  return out;
}

std::string one_more(std::string payload) {
  v1::SumsBlock block;
  EXPECT_TRUE(block.ParseFromString(payload));
  auto sums = store::decode_sums(block);
  EXPECT_TRUE(sums);
  ++sums->cells.front().second.weight;
  return encode(*sums);
}

TEST(Sums, AreThoseOfTheSamples) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const std::string bytes = random_profile(seed);
    EXPECT_TRUE(with_and_without(bytes, {}));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20; ++i) {
      const TimeNs from = kStart + static_cast<TimeNs>(random() % 3000);
      const TimeNs to = from + static_cast<TimeNs>(random() % 3000);
      EXPECT_TRUE(with_and_without(bytes, {.from = from, .to = to})) << from << " " << to;
    }
    const std::string wrong = changed(bytes, store::BlockType::kSums, one_more);
    EXPECT_FALSE(with_and_without(wrong, {})) << "the twin: sums that are wrong";
  }
}

// They take the place of samples: the payload of these is not looked at.
TEST(Sums, StandForSamplesThatAreNotRead) {
  const std::string bytes = random_profile(1);
  const std::string bad = changed(bytes, store::BlockType::kSamples, [](auto) { return "no samples"; });
  const Profile whole = load(bytes, {}, false);
  const Profile sums = load(bad, {}, true);
  EXPECT_TRUE(same(whole.cells(), sums.cells()));
  EXPECT_EQ(load(bad, {}, false).cells().size(), 0u);
  // Views that need samples read them.
  EXPECT_EQ(load(bytes, {.keep_samples = true}, true).samples().size(), 3000u);
  EXPECT_TRUE(same(load(bytes, {.functions = true}, true), load(bytes, {.functions = true}, false)));
  // Outside of the time that is asked for, nobody does.
  const Profile nothing = load(bad, {.from = 1, .to = 2, .keep_samples = true}, true);
  EXPECT_TRUE(nothing.read_report().clean());
  EXPECT_TRUE(nothing.samples().empty());
}

TEST(Sums, DoNotHideThatTheirSamplesAreDamaged) {
  const std::string bytes = random_profile(2);
  const Profile whole = load(bytes, {}, true);
  ASSERT_FALSE(is_damaged(whole));
  for (const store::BlockType type : {store::BlockType::kSamples, store::BlockType::kSums}) {
    const std::vector<Place> places = places_of(bytes, type);
    ASSERT_GT(places.size(), 3u);
    for (std::size_t i = 0; i < places.size(); i += 4) {
      const Place& place = places[i];
      constexpr std::size_t kStoredSize = 8;  // where the header has it
      for (const std::size_t at : {place.begin + kStoredSize, place.payload, place.end - 1}) {
        std::string bad = bytes;
        bad[at] = static_cast<char>(bad[at] ^ 4);
        const Profile damaged = load(bad, {}, true);
        EXPECT_TRUE(is_damaged(damaged)) << at;
        EXPECT_NE(damage_text(damaged).find(std::to_string(place.begin)), std::string::npos)
            << damage_text(damaged);
        EXPECT_EQ(damaged.read_report().damaged_spots, 1u) << at;
        // The others say what the damaged one says.
        if (at >= place.payload) {
          EXPECT_TRUE(same(whole.cells(), damaged.cells())) << at;
          EXPECT_EQ(damaged.read_report().missing_samples, 0u) << at;
        }
      }
    }
  }
}

// Nobody reads it there.
TEST(Sums, DamageOutsideOfTheTimeIsNotLookedFor) {
  std::string bytes = random_profile(2);
  const Place place = places_of(bytes, store::BlockType::kSamples)[2];
  bytes[place.payload] = static_cast<char>(bytes[place.payload] ^ 4);
  EXPECT_FALSE(is_damaged(load(bytes, {.from = 1, .to = 2}, true)));
  EXPECT_TRUE(is_damaged(load(bytes, {}, true)));
}

// Samples that got another owner later are read one by one.
TEST(Sums, AreLeftOutWhereNamesCameLate) {
  const auto late = [](std::int32_t pid) {
    return [pid](profile::ProfileSink& out) {
      v1::CodeObject code;
      code.set_id(1);
      code.set_plan_id(1);
      code.set_base(0x1000);
      code.set_size(20);
      code.set_name("f");
      code.set_told_by(v1::TOLD_BY_PERF_MAP);
      code.mutable_rows()->add_offset_delta(0);
      code.mutable_rows()->add_link_delta(2);
      out.on_code({pid, 9}, kStart, code);
    };
  };
  const Profile before = load(random_profile(3), {}, false);
  for (const std::int32_t pid : {7, 8, 99}) {
    const std::string bytes = random_profile(3, late(pid));
    EXPECT_TRUE(with_and_without(bytes, {}));
    EXPECT_EQ(same(before.cells(), load(bytes, {}, true).cells()), pid == 99);
  }
}

TEST(Sums, AreLeftOutWhereAPlanCameLate) {
  const auto told = [](std::int32_t pid, bool late) {
    return [pid, late](profile::ProfileSink& out) {
      profile::ProcessRecord process;
      process.process = {pid, 9};
      process.registered = kStart;
      process.tag_key = kTagKey;
      out.on_process(process);
      v1::Plan plan;
      plan.set_id(5);
      plan.set_slot(2);
      plan.add_levels()->set_component_count(4);
      if (late) plan.set_late_until(kStart + 2000);
      out.on_plan({pid, 9}, kStart, plan);
    };
  };
  const Profile before = load(random_profile(3), {}, false);
  for (const std::int32_t pid : {7, 8, 99}) {
    const std::string late = random_profile(3, told(pid, true));
    EXPECT_TRUE(with_and_without(late, {}));
    EXPECT_EQ(same(before.cells(), load(late, {}, true).cells()), pid == 99);
    EXPECT_TRUE(same(before.cells(), load(random_profile(3, told(pid, false)), {}, true).cells()))
        << "a plan that was told in time";
  }
}

// Sums never hold what the file does not.
TEST(Sums, KnowNothingOfSamplesThatCouldNotBeWritten) {
  std::uint64_t lost = 0;
  for (std::uint64_t append = 2; append < 60; ++append) {
    const std::string bytes = random_profile(5, {}, append);
    const Profile samples = load(bytes, {}, false);
    lost += 3000 - samples.read_report().samples;
    EXPECT_TRUE(same(samples.cells(), load(bytes, {}, true).cells())) << append;
  }
  EXPECT_GT(lost, 0u);
}

// Whatever a SUMS block says, nothing but samples before it are left out, and once only.
TEST(Sums, OfOtherBlocksAreLeftOut) {
  const std::string bytes = random_profile(6);
  const Profile whole = load(bytes, {}, false);
  const auto with_blocks = [&](const std::function<void(v1::SumsBlock&)>& edit) {
    return changed(bytes, store::BlockType::kSums, [&](std::string payload) {
      v1::SumsBlock block;
      EXPECT_TRUE(block.ParseFromString(payload));
      edit(block);
      return block.SerializeAsString();
    });
  };
  const std::vector<std::function<void(v1::SumsBlock&)>> edits = {
      [](v1::SumsBlock& block) { block.set_blocks(0, 0); },  // the META block in front
      [](v1::SumsBlock& block) { block.set_blocks(1, 1000); },
      [](v1::SumsBlock& block) { block.set_blocks(1, 0); },
      [](v1::SumsBlock& block) { block.set_blocks(1, UINT64_MAX); },
      [](v1::SumsBlock& block) { block.add_blocks(1); },
      [](v1::SumsBlock& block) { block.set_block_samples(0, 0); },
      [](v1::SumsBlock& block) { block.set_block_samples(0, block.block_samples(0) + 1); },
      [](v1::SumsBlock& block) { block.set_last(0, -1); },
      [](v1::SumsBlock& block) { block.set_version(2); },
      [](v1::SumsBlock& block) { block.mutable_cells()->add_weight(1); },
      [](v1::SumsBlock& block) { block.mutable_cells()->mutable_keys()->set_block_rows(1u << 30); },
      [](v1::SumsBlock& block) { block.mutable_cells()->set_samples(0, 0); },
      [](v1::SumsBlock& block) { block.mutable_cells()->set_samples(0, UINT64_MAX); },
      [](v1::SumsBlock& block) { block.mutable_places()->set_samples(0, 1000); },
  };
  for (std::size_t i = 0; i < edits.size(); ++i)
    EXPECT_TRUE(same(whole, load(with_blocks(edits[i]), {}, true))) << i;
  EXPECT_TRUE(same(whole, load(with_blocks([](v1::SumsBlock&) {}), {}, true)));
  const std::string unread = changed(bytes, store::BlockType::kSums, [](auto) { return "no sums"; });
  EXPECT_TRUE(same(whole, load(unread, {}, true)));
}

TEST(Sums, AreNotWrittenWhereTheySaveNothing) {
  const auto blocks_of = [](store::SumsOptions sums) {
    std::string bytes;
    auto writer = store::FileWriter::on(std::make_unique<test::MemoryOutput>(bytes),
                                        {.rows_per_block = 64, .sums = sums});
    std::mt19937_64 random(1);
    for (TimeNs i = 0; i < 3000; ++i) {
      const profile::SampleRecord s = random_sample(random, kStart + i);
      writer->on_samples(std::span(&s, 1));
    }
    EXPECT_TRUE(writer->finish());
    std::size_t blocks = 0;
    changed(bytes, store::BlockType::kSums, [&](std::string payload) {
      ++blocks;
      return payload;
    });
    return blocks;
  };
  EXPECT_EQ(blocks_of({}), 0u);
  EXPECT_EQ(blocks_of({.most_samples = 640, .least_samples = 1, .smaller_by = 0}), 5u);
  EXPECT_EQ(blocks_of({.most_samples = 640, .least_samples = 641, .smaller_by = 0}), 0u);
  EXPECT_EQ(blocks_of({.most_samples = 640, .least_samples = 1, .smaller_by = 16}), 0u);
  EXPECT_GT(blocks_of({.least_samples = 1, .most_keys = 100, .smaller_by = 0}), 10u);
}

}  // namespace
}  // namespace tailor::query
