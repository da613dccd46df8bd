// What was written can be read, however much it says in few bytes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/query/load/profile.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/encoder.h"
#include "daemon/store/memory_budget.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "tests/support/memory_output.h"
#include "tests/support/profile_bytes.h"

namespace tailor::query {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kRoom = store::names_budget(0);

// A function whose record takes so much memory.
profile::FileNames names_that_take(std::uint64_t bytes, std::uint64_t begin) {
  profile::FileNames out{"/lib/x.so", "b1", {{begin, 0x10, begin, "", ""}}};
  out.functions[0].name.assign(bytes - store::memory_of(out), 'x');
  EXPECT_EQ(store::memory_of(out), bytes);
  return out;
}

// All the room that there is.
void give_names_that_fit(profile::ProfileSink& sink) {
  for (std::uint64_t i = 0; i < 4; ++i) sink.on_names(names_that_take(kRoom / 4, 0x100 * i));
}

// The blocks of a file whose writer leaves nothing out: a store has its bounds elsewhere.
class BlocksOfAStore : public store::BlockSink {
 public:
  explicit BlocksOfAStore(std::string& bytes)
      : writer_(std::make_unique<test::MemoryOutput>(bytes), store::FileHeader{}) {}
  std::optional<std::uint64_t> block(store::BlockType type, std::string_view raw,
                                     const store::BlockContent& content) override {
    return writer_.write(type, raw, content);
  }
  Status finish() { return writer_.finish(); }

 private:
  store::BlockWriter writer_;
};

std::string without_leaving_out(const std::function<void(profile::ProfileSink&)>& give) {
  std::string bytes;
  BlocksOfAStore blocks(bytes);
  store::ProfileEncoder encoder(blocks, {});
  give(encoder);
  encoder.finish();
  EXPECT_TRUE(blocks.finish());
  return bytes;
}

std::size_t functions_in(const Profile& profile) {
  return profile.names().count("/lib/x.so", "b1").value_or(0);
}

TEST(ReadBudget, NamesThatFitAreAllRead) {
  const Profile profile = test::load(test::profile_bytes(give_names_that_fit));
  EXPECT_EQ(functions_in(profile), 4u);
  EXPECT_EQ(damage_text(profile), "");
}

TEST(ReadBudget, OneNameMoreIsLeftOutByItsWriter) {
  const Profile profile = test::load(test::profile_bytes([](profile::ProfileSink& sink) {
    give_names_that_fit(sink);
    sink.on_names(names_that_take(kRoom / 8, 0x1000));
  }));
  EXPECT_EQ(functions_in(profile), 4u);
  EXPECT_EQ(profile.said_loss().names, 1u);
  EXPECT_EQ(profile.names_left_out(), 0u);
  EXPECT_THAT(damage_text(profile), HasSubstr("The names of 1 function are left out"));
  EXPECT_FALSE(is_damaged(profile)) << "no sample is missing";
}

// Such a file is read all the same, and its reader says it.
TEST(ReadBudget, OneNameMoreThatWasWrittenIsLeftOutByItsReader) {
  const Profile profile = test::load(without_leaving_out([](profile::ProfileSink& sink) {
    give_names_that_fit(sink);
    sink.on_names(names_that_take(kRoom / 8, 0x1000));
  }));
  EXPECT_EQ(functions_in(profile), 4u);
  EXPECT_EQ(profile.said_loss().names, 0u);
  EXPECT_EQ(profile.names_left_out(), 1u);
  EXPECT_THAT(damage_text(profile), HasSubstr("The names of 1 function are left out"));
}

// With it would go, in silence, why code of that file has no name.
TEST(ReadBudget, AFileWithoutNamesThatHasNoRoomCountsAsOneFunction) {
  const auto give = [](profile::ProfileSink& sink) {
    give_names_that_fit(sink);
    sink.on_names({std::string(kRoom / 16, 'p'), "", {}});
  };
  const Profile left_out = test::load(test::profile_bytes(give));
  EXPECT_EQ(left_out.said_loss().names, 1u);
  const Profile read = test::load(without_leaving_out(give));
  EXPECT_EQ(read.names_left_out(), 1u);
  for (const Profile* profile : {&left_out, &read}) {
    EXPECT_TRUE(profile->names().are_some_missing());
    EXPECT_THAT(damage_text(*profile), HasSubstr("The names of 1 function are left out"));
  }
}

// More than a small file has room for, one each millisecond and all alike.
constexpr std::size_t kAlike = 1'200'000;

void give_samples_that_are_alike(profile::ProfileSink& sink) {
  profile::RecordingInfo info;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
  sink.on_recording(info);
  profile::ProcessRecord process;
  process.process = {7, 1};
  sink.on_process(process);
  std::vector<profile::SampleRecord> samples(10'000);
  TimeNs time = 0;
  for (std::size_t given = 0; given < kAlike; given += samples.size()) {
    for (profile::SampleRecord& sample : samples) {
      sample.process = process.process;
      sample.weight = 100;
      sample.time = time += 1'000'000;
    }
    sink.on_samples(samples);
    sink.on_watermark(time);
  }
}

// The same blocks, each as small as it gets.
std::string compressed(const std::string& bytes) {
  store::MemoryInput input(bytes);
  store::ReadReport report;
  store::BlockReader reader(input, report);
  EXPECT_TRUE(reader.open());
  std::string out = bytes.substr(0, store::kFileHeaderSize);
  std::uint64_t next = 0;
  for (auto block = reader.next(); block && block->has_value(); block = reader.next())
    out += store::make_block((*block)->header.type, next++, (*block)->payload);
  return out;
}

TEST(ReadBudget, SamplesThatAreAlikeAreAllRead) {
  LoadOptions options;
  options.keep_samples = true;
  const std::string bytes = test::profile_bytes(give_samples_that_are_alike);
  store::MemoryInput input(bytes);
  const auto profile = Profile::load(input, options);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->samples().size(), kAlike);
  EXPECT_EQ(damage_text(*profile), "");
  // The twin: a writer who only looks at the size of the file.
  const std::string small = compressed(bytes);
  EXPECT_LT(small.size(), bytes.size() / 4);
  store::MemoryInput small_input(small);
  const auto refused = Profile::load(small_input, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than a profile of that size may take"));
}

class StoreBudget : public testing::Test {
 protected:
  StoreBudget() { std::filesystem::remove_all(directory_); }
  ~StoreBudget() override { std::filesystem::remove_all(directory_); }

  Result<Profile> load(store::RecordingNumber recording) const {
    auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    if (!catalogue) return catalogue.error();
    LoadOptions options;
    options.keep_samples = true;
    return Profile::load_store(directory_, *catalogue, recording, options);
  }
  std::string path_of(const store::SegmentFile& segment) const {
    return store::segment_path(directory_, segment.number, segment.kind);
  }

  std::string directory_ = testing::TempDir() + "/store_budget_" + std::to_string(::getpid());
};

// None of the segments has more samples than a file has room for.
TEST_F(StoreBudget, SamplesOfManySegmentsThatAreAlikeAreAllRead) {
  store::StoreOptions how;
  how.segment_time = TimeNs{kAlike} / 4 * 1'000'000;
  auto writer = store::StoreWriter::open(directory_, how, 1);
  ASSERT_TRUE(writer) << writer.error().message;
  give_samples_that_are_alike(**writer);
  ASSERT_TRUE((*writer)->finish());
  const store::RecordingNumber recording = (*writer)->recording();
  writer->reset();
  const auto segments = store::list_segments(directory_);
  ASSERT_TRUE(segments);
  EXPECT_GE(segments->size(), 5u);
  const auto profile = load(recording);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->samples().size(), kAlike);
  EXPECT_EQ(damage_text(*profile), "");
  // The twin: a writer who takes each segment for a file of its own.
  for (const store::SegmentFile& segment : *segments) {
    std::ifstream in(path_of(segment), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::ofstream(path_of(segment), std::ios::binary) << compressed(bytes);
  }
  const auto refused = load(recording);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than a profile of that size may take"));
}

}  // namespace
}  // namespace tailor::query
