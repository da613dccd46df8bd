// What waits packed comes out as the event that the long way makes of its record, whatever the format,
// whatever lies between, however it is sorted.
#include "daemon/capture/decode/intake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <tuple>

#include "daemon/capture/decode/event_sorter.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/record_events.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

constexpr std::uint32_t kRingCpu = 9;
constexpr std::uint64_t kFixed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
                                 PERF_SAMPLE_REGS_INTR;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t word() { return engine_(); }
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::vector<std::uint64_t> words(std::size_t count) {
    std::vector<std::uint64_t> out(count);
    for (auto& w : out) w = word();
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

EventFormat random_format(Random& random, std::uint16_t source) {
  EventFormat format;
  format.source = source;
  format.sample_type = (random.word() & kFixed) | PERF_SAMPLE_IDENTIFIER;
  if (random.one_in(4)) format.sample_type |= PERF_SAMPLE_CALLCHAIN;
  format.regs_user = random.word() & 0xFFFFFF;
  format.regs_intr = random.word() & (random.one_in(10) ? 0xFFFFFFFFF : 0xFFFFFF);
  format.period = random.word();
  format.tag_register = static_cast<std::uint8_t>(random.below(28));
  format.tag_from = static_cast<TagFrom>(random.below(4));
  return format;
}

RingLayout random_layout(Random& random) {
  RingLayout layout;
  layout.cpu = kRingCpu;
  const auto count = static_cast<std::uint16_t>(random.below(3) + 1);
  for (std::uint16_t i = 0; i < count; ++i) {
    layout.formats.push_back(random_format(random, i));
    layout.ids.push_back({i + 1u, i});
  }
  return layout;
}

// Mostly samples of user code; among them all that takes the long way, and some bytes that are no record.
std::vector<std::byte> random_bytes(const RingLayout& layout, Random& random, TimeNs first) {
  std::vector<std::byte> bytes;
  for (std::uint64_t left = random.below(60); left > 0; --left) {
    const std::size_t number = random.below(layout.formats.size());
    const EventFormat& format = layout.formats[number];
    test::SampleFields f;
    f.misc = random.one_in(5) ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    f.identifier = f.id = number + 1;
    for (std::uint64_t* field : {&f.ip, &f.address, &f.stream_id, &f.period, &f.weight, &f.data_source})
      *field = random.word();
    f.pid = static_cast<std::int32_t>(random.below(10)) - 1;
    f.tid = static_cast<std::int32_t>(random.word());
    f.time = static_cast<std::uint64_t>(first) + random.below(50);
    f.cpu = static_cast<std::uint32_t>(random.word());
    f.chain = random.words(random.below(5));
    f.user_abi = random.one_in(10) ? 0 : 2;
    f.user_registers = random.words(static_cast<std::size_t>(std::popcount(format.regs_user)));
    f.interrupt_abi = random.one_in(10) ? 0 : 2;
    f.interrupt_registers = random.words(static_cast<std::size_t>(std::popcount(format.regs_intr)));
    if (random.one_in(6)) {
      const auto others = test::every_sideband_record(format, f, f.time);
      test::append(bytes, others[random.below(others.size())]);
    } else if (random.one_in(15)) {
      // Not a multiple of eight: everything behind it lies askew.
      test::append(bytes, test::RecordBytes(200, 0).raw("odd").done());
    } else {
      std::vector<std::byte> sample = test::encode_sample(format, f);
      if (random.one_in(20)) sample[6] = static_cast<std::byte>(std::to_integer<int>(sample[6]) - 8);  // size
      test::append(bytes, sample);
    }
  }
  return bytes;
}

// Every record by the long way, with one batch for each event.
std::vector<Batch> long_way(const RingLayout& layout, std::span<const std::byte> bytes) {
  std::vector<Batch> events;
  while (bytes.size() >= sizeof(perf_event_header)) {
    perf_event_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof header || header.size > bytes.size()) break;
    const RecordView record{header.type, header.misc, bytes.subspan(8, header.size - 8u)};
    bytes = bytes.subspan(header.size);
    std::size_t number = 0;
    if (layout.formats.size() > 1) {
      const std::size_t words = record.payload.size() / 8;
      if (words == 0) continue;
      const bool sample = record.type == PERF_RECORD_SAMPLE;
      const std::uint64_t id = WordView(record.payload.data(), words)[sample ? 0 : words - 1];
      if (id > layout.formats.size() || (id == 0 && sample)) continue;
      number = id == 0 ? 0 : id - 1;
    }
    Batch one;
    const EventFormat& format = layout.formats[number];
    const RecordOutcome outcome = record.type == PERF_RECORD_SAMPLE
                                      ? decode_sample(format, kRingCpu, record, one)
                                      : decode_sideband(format, kRingCpu, record, one);
    if (outcome == RecordOutcome::kDecoded) events.push_back(std::move(one));
  }
  return events;
}

// All of an event but the offsets into its batch, and what they lead to.
auto all_of(const Batch& batch, const Event& e) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t word : batch.kernel_chain(e)) words.push_back(word);
  for (std::uint64_t word : batch.chain(e)) words.push_back(word);
  for (unsigned number = 0; number < 32; ++number) {
    if (auto value = batch.reg(e, number)) words.push_back(*value);
  }
  return std::tuple(
      std::tuple(e.time, e.kind, e.mode, e.source, e.cpu, e.pid, e.tid, e.weight, e.ip, e.user_ip, e.tag),
      std::tuple(e.tag_from, e.has_tag, e.flag_exec, e.flag_preempted, e.flag_executable, e.has_address,
                 e.kernel_chain_size, e.chain_size, e.text_size, e.address, e.size, e.page_offset),
      std::tuple(e.data_source, e.parent_pid, e.parent_tid, e.regs_mask, e.latency, e.wait), words,
      std::string(batch.text_of(e)));
}

struct Compared {
  int packed = 0, decoded = 0, different = 0;
};

void compare(const Intake& intake, const std::vector<Batch>& expected, Compared& sum) {
  ASSERT_EQ(intake.order.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Arrival& arrival = intake.order[i];
    ++(arrival.packed() ? sum.packed : sum.decoded);
    const Event event = intake.event(arrival);
    EXPECT_EQ(event.time, arrival.time);
    sum.different += all_of(intake.batch, event) != all_of(expected[i], expected[i].events[0]);
  }
}

TEST(Intake, HoldsWhatTheLongWayMakesOfEveryRecord) {
  Random random(20210426);
  Compared sum;
  for (int round = 0; round < 3000; ++round) {
    const RingLayout layout = random_layout(random);
    const auto bytes = random_bytes(layout, random, 1000);
    auto decoder = RecordDecoder::create(layout);
    ASSERT_TRUE(decoder.ok());
    Intake intake;
    decoder->decode(bytes, intake);
    ASSERT_NO_FATAL_FAILURE(compare(intake, long_way(layout, bytes), sum)) << "round " << round;
    ASSERT_EQ(sum.different, 0) << "round " << round;
    const DecodeCounts counts = decoder->counts();
    EXPECT_EQ(counts.decoded, intake.order.size());
    EXPECT_EQ(counts.records, counts.decoded + counts.malformed + counts.unknown_type + counts.unknown_id);
    Batch batch;
    decoder->decode(bytes, batch);
    EXPECT_EQ(batch.events.size(), intake.order.size());
    EXPECT_EQ(decoder->counts().samples, 2 * counts.samples);
  }
  EXPECT_GT(sum.packed, 5000);
  EXPECT_GT(sum.decoded, 5000);
}

// The broken twin: places of another format of the same length are found out.
TEST(Intake, PlacesOfAnotherFormatAreFoundOut) {
  Random random(3);
  Compared right, wrong;
  for (int round = 0; round < 200; ++round) {
    RingLayout layout = random_layout(random);
    layout.formats.resize(1);
    EventFormat& format = layout.formats[0];
    format.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
    format.regs_user = 0x800100;
    const auto bytes = random_bytes(layout, random, 1000);
    const std::vector<Batch> expected = long_way(layout, bytes);
    auto decoder = RecordDecoder::create(layout);
    Intake intake;
    decoder->decode(bytes, intake);
    compare(intake, expected, right);
    format.regs_user = 0x800200;
    intake.formats = std::make_shared<const FixedFormats>(FixedFormats{FixedSample::of(format, kRingCpu)});
    compare(intake, expected, wrong);
  }
  EXPECT_EQ(right.different, 0);
  EXPECT_GT(right.packed, 500);
  EXPECT_EQ(wrong.different, wrong.packed);
}

// Several rings, chunk by chunk, with times that go back and forth: a stable sort of what the long way gives.
TEST(Intake, LeavesTheSorterAsTheLongWayGivesIt) {
  Random random(5);
  EventSorter sorter;
  Batch out, late;
  std::vector<Batch> expected;
  std::vector<RingLayout> layouts;
  for (int ring = 0; ring < 4; ++ring) {
    layouts.push_back(random_layout(random));
    // Where records carry no time they are all late.
    for (EventFormat& format : layouts.back().formats) format.sample_type |= PERF_SAMPLE_TIME;
  }
  Intake intake;
  for (TimeNs now = 1000; now < 60'000; now += 20) {
    const RingLayout& layout = layouts[random.below(layouts.size())];
    auto decoder = RecordDecoder::create(layout);
    // A few far ahead keep the memory of many, until it is compacted.
    const auto bytes = random_bytes(layout, random, random.one_in(50) ? now + 50'000 : now);
    decoder->decode(bytes, intake);
    sorter.add(std::move(intake), late);
    EXPECT_TRUE(intake.batch.empty() && intake.order.empty());  // NOLINT(bugprone-use-after-move)
    for (Batch& one : long_way(layout, bytes)) expected.push_back(std::move(one));
    if (random.one_in(3)) sorter.advance(now, out);
  }
  sorter.advance(kTimeMax, out);
  std::ranges::stable_sort(expected, {}, [](const Batch& one) { return one.events[0].time; });
  EXPECT_TRUE(late.empty());
  ASSERT_EQ(out.events.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(all_of(out, out.events[i]), all_of(expected[i], expected[i].events[0])) << i;
  }
}

TEST(Intake, LateSamplesAreHandedBackWhole) {
  RingLayout layout;
  layout.formats.emplace_back();
  layout.formats[0].sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
  layout.formats[0].regs_user = 0x800000;
  layout.formats[0].tag_register = 23;
  test::SampleFields f;
  f.ip = 0x1000;
  f.time = 5;
  f.user_registers = {77};
  auto decoder = RecordDecoder::create(layout);
  Intake intake;
  decoder->decode(test::encode_sample(layout.formats[0], f), intake);
  ASSERT_TRUE(intake.order.at(0).packed());
  EventSorter sorter;
  Batch out, late;
  sorter.advance(6, out);
  sorter.add(std::move(intake), late);
  ASSERT_EQ(late.events.size(), 1u);
  EXPECT_EQ(late.events[0].tag, 77u);
  EXPECT_EQ(late.reg(late.events[0], 23), 77u);
}

// A few samples among much that is no event do not keep all of it in memory.
TEST(Intake, JunkIsNotKept) {
  RingLayout layout;
  layout.formats.emplace_back();
  layout.formats[0].sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
  std::vector<std::byte> bytes = test::encode_sample(layout.formats[0], {.ip = 0x1000, .time = 5});
  const auto junk = test::RecordBytes(200, 0).raw(std::string(4096, 'x')).done();
  for (int i = 0; i < 100; ++i) test::append(bytes, junk);
  test::append(bytes, test::encode_sample(layout.formats[0], {.ip = 0x2000, .time = 6}));
  auto decoder = RecordDecoder::create(layout);
  Intake intake;
  decoder->decode(bytes, intake);
  EXPECT_LT(intake.batch.words.capacity(), 100u);
  ASSERT_EQ(intake.order.size(), 2u);
  EXPECT_EQ(intake.event(intake.order[0]).ip, 0x1000u);
  EXPECT_EQ(intake.event(intake.order[1]).ip, 0x2000u);
}

}  // namespace
}  // namespace tailor::capture
