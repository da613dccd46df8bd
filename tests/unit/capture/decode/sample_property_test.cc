// Samples of random formats, encoded by the kernel's own description, come back field by field.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <tuple>

#include "daemon/capture/decode/fixed_sample.h"
#include "daemon/capture/decode/record_events.h"
#include "daemon/capture/decode/sample_view.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint64_t word() { return engine_(); }
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool coin() { return engine_() & 1; }
  std::vector<std::uint64_t> words(std::size_t count) {
    std::vector<std::uint64_t> out(count);
    for (auto& w : out) w = word();
    return out;
  }
  std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> out(count);
    for (auto& b : out) b = static_cast<std::byte>(word());
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

EventFormat random_format(Random& random) {
  EventFormat format;
  format.sample_type = random.word() & kKnownSampleTypes;
  format.read_format = random.word() & (PERF_FORMAT_MAX - 1);
  format.branch_sample_type = random.word() & (PERF_SAMPLE_BRANCH_HW_INDEX | kBranchCounters);
  format.regs_user = random.word();
  format.regs_intr = random.word() & 0xFFFFFF;
  format.sample_id_all = random.coin();
  return format;
}

std::vector<std::uint64_t> random_read_values(const EventFormat& format, Random& random) {
  std::size_t times = !!(format.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
                      !!(format.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
  std::size_t member =
      1 + !!(format.read_format & PERF_FORMAT_ID) + !!(format.read_format & PERF_FORMAT_LOST);
  if (!(format.read_format & PERF_FORMAT_GROUP)) return random.words(times + member);
  std::uint64_t count = random.below(5);
  auto words = random.words(1 + times + count * member);
  words[0] = count;
  return words;
}

test::SampleFields random_fields(const EventFormat& format, Random& random) {
  test::SampleFields f;
  for (std::uint64_t* field : {&f.identifier, &f.ip, &f.time, &f.address, &f.id, &f.stream_id, &f.period,
                               &f.branch_hw_index, &f.weight, &f.data_source, &f.transaction,
                               &f.physical_address, &f.cgroup, &f.data_page_size, &f.code_page_size}) {
    *field = random.word();
  }
  f.pid = static_cast<std::int32_t>(random.word());
  f.tid = static_cast<std::int32_t>(random.word());
  f.cpu = static_cast<std::uint32_t>(random.word());
  f.read_values = random_read_values(format, random);
  f.chain = random.words(random.below(40));
  f.raw = random.bytes(random.below(8) * 8 + 4);
  std::size_t branches = random.below(6);
  f.branches = random.words(branches * 3);
  f.branch_counters = random.words(branches);
  f.user_abi = random.below(3);
  f.user_registers = random.words(static_cast<std::size_t>(std::popcount(format.regs_user)));
  f.stack = random.bytes(random.below(10) * 8);
  f.stack_dynamic_size = f.stack.empty() ? 0 : random.below(f.stack.size() + 1);
  f.interrupt_abi = random.below(3);
  f.interrupt_registers = random.words(static_cast<std::size_t>(std::popcount(format.regs_intr)));
  f.aux = random.bytes(random.below(10) * 8);
  return f;
}

std::vector<std::uint64_t> copy(const WordView& words) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < words.size(); ++i) out.push_back(words[i]);
  return out;
}

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// What was not asked for must come back as zero.
void expect_same(const EventFormat& format, const test::SampleFields& f, const SampleView& view) {
  auto has = [&](std::uint64_t bit) { return (format.sample_type & bit) != 0; };
  auto word = [&](std::uint64_t bit, std::uint64_t value) { return has(bit) ? value : 0; };
  EXPECT_EQ(view.identifier, word(PERF_SAMPLE_IDENTIFIER, f.identifier));
  EXPECT_EQ(view.ip, word(PERF_SAMPLE_IP, f.ip));
  EXPECT_EQ(view.pid, has(PERF_SAMPLE_TID) ? f.pid : 0);
  EXPECT_EQ(view.tid, has(PERF_SAMPLE_TID) ? f.tid : 0);
  EXPECT_EQ(view.time, word(PERF_SAMPLE_TIME, f.time));
  EXPECT_EQ(view.address, word(PERF_SAMPLE_ADDR, f.address));
  EXPECT_EQ(view.id, word(PERF_SAMPLE_ID, f.id));
  EXPECT_EQ(view.stream_id, word(PERF_SAMPLE_STREAM_ID, f.stream_id));
  EXPECT_EQ(view.cpu, has(PERF_SAMPLE_CPU) ? f.cpu : 0);
  EXPECT_EQ(view.period, word(PERF_SAMPLE_PERIOD, f.period));
  if (has(PERF_SAMPLE_READ)) {
    EXPECT_EQ(copy(WordView(view.read_values.data(), view.read_values.size() / 8)), f.read_values);
  }
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    EXPECT_EQ(copy(view.chain), f.chain);
  }
  if (has(PERF_SAMPLE_RAW)) {
    EXPECT_EQ(copy(view.raw), f.raw);
  }
  if (has(PERF_SAMPLE_BRANCH_STACK)) {
    EXPECT_EQ(copy(view.branches), f.branches);
  }
  if (has(PERF_SAMPLE_REGS_USER)) {
    EXPECT_EQ(view.user_registers.abi, f.user_abi);
    if (f.user_abi != 0) {
      EXPECT_EQ(copy(view.user_registers.values), f.user_registers);
    }
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    EXPECT_EQ(copy(view.stack), f.stack);
    EXPECT_EQ(view.stack_dynamic_size, f.stack_dynamic_size);
  }
  EXPECT_EQ(view.weight, word(PERF_SAMPLE_WEIGHT_TYPE, f.weight));
  EXPECT_EQ(view.data_source, word(PERF_SAMPLE_DATA_SRC, f.data_source));
  EXPECT_EQ(view.transaction, word(PERF_SAMPLE_TRANSACTION, f.transaction));
  if (has(PERF_SAMPLE_REGS_INTR) && f.interrupt_abi != 0) {
    EXPECT_EQ(copy(view.interrupt_registers.values), f.interrupt_registers);
  }
  EXPECT_EQ(view.physical_address, word(PERF_SAMPLE_PHYS_ADDR, f.physical_address));
  EXPECT_EQ(view.cgroup, word(PERF_SAMPLE_CGROUP, f.cgroup));
  EXPECT_EQ(view.data_page_size, word(PERF_SAMPLE_DATA_PAGE_SIZE, f.data_page_size));
  EXPECT_EQ(view.code_page_size, word(PERF_SAMPLE_CODE_PAGE_SIZE, f.code_page_size));
  if (has(PERF_SAMPLE_AUX)) {
    EXPECT_EQ(copy(view.aux), f.aux);
  }
}

TEST(SampleProperty, EveryCombinationComesBack) {
  Random random(20210426);
  for (int round = 0; round < 5000 && !testing::Test::HasFailure(); ++round) {
    EventFormat format = random_format(random);
    test::SampleFields fields = random_fields(format, random);
    auto bytes = test::encode_sample(format, fields);
    SampleView view;
    ASSERT_TRUE(parse_sample(format, std::span(bytes).subspan(8), view)) << "round " << round;
    expect_same(format, fields, view);
  }
}

void expect_same(const Batch& batch, const Event& a, const Event& b) {
  auto parts = [](const Event& e) {
    return std::tuple(e.time, e.kind, e.mode, e.source, e.cpu, e.pid, e.tid, e.weight, e.ip, e.user_ip, e.tag,
                      e.has_tag, e.has_address, e.chain_size, e.address, e.data_source, e.regs_mask,
                      e.latency, e.tag_from);
  };
  EXPECT_EQ(parts(a), parts(b));
  for (unsigned number = 0; number < 32; ++number) EXPECT_EQ(batch.reg(a, number), batch.reg(b, number));
}

// One byte short or one word long never fits: the sizes inside a record are all checked.
TEST(SampleProperty, OtherLengthsAreRefused) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    EventFormat format = random_format(random);
    format.sample_type |= PERF_SAMPLE_IP;
    format.branch_sample_type = 0;
    auto bytes = test::encode_sample(format, random_fields(format, random));
    SampleView view;
    auto payload = std::span(bytes).subspan(8);
    EXPECT_FALSE(parse_sample(format, payload.first(payload.size() - 1), view));
    bytes.resize(bytes.size() + 8);
    EXPECT_FALSE(parse_sample(format, std::span(bytes).subspan(8), view));
  }
}

// The short way gives what the long way gives, also right after a sample of another format.
TEST(SampleProperty, FixedPlacesAgreeWithTheLongWay) {
  constexpr std::uint64_t kVariable =
      PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX |
      PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
  Random random(99);
  int short_ways = 0;
  for (int round = 0; round < 5000 && !testing::Test::HasFailure(); ++round) {
    EventFormat format = random_format(random);
    EXPECT_EQ(FixedSample::of(format, 5).has_value(), (format.sample_type & kVariable) == 0);
    format.sample_type &= ~kVariable;
    auto bytes = test::encode_sample(format, random_fields(format, random));
    const RecordView record{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, std::span(bytes).subspan(8)};
    format.tag_register = static_cast<std::uint8_t>(random.below(32));
    format.tag_from = static_cast<TagFrom>(random.below(2));
    const FixedSample fixed = *FixedSample::of(format, 5);
    EXPECT_FALSE(fixed.fits(PERF_RECORD_MISC_KERNEL, record.payload));  // may hide registers
    if (!fixed.fits(record.misc, record.payload)) continue;
    ++short_ways;
    Batch batch;
    batch.words.resize(record.payload.size() / 8);
    std::ranges::copy(record.payload, std::as_writable_bytes(std::span(batch.words)).begin());
    batch.events.push_back(fixed.unpack(batch.words.data(), 0));
    const std::uint64_t* payload = batch.words.data();
    const Event& event = batch.events[0];
    EXPECT_EQ(fixed.time(payload), event.time);
    EXPECT_EQ(fixed.ip(payload), event.ip);
    EXPECT_EQ(fixed.tag(payload), event.tag);
    EXPECT_EQ(fixed.cpu(payload), event.cpu);
    EXPECT_EQ(fixed.weight(payload), event.weight);
    EXPECT_EQ(static_cast<std::int32_t>(fixed.thread(payload)), event.pid);
    EXPECT_EQ(static_cast<std::int32_t>(fixed.thread(payload) >> 32), event.tid);
    EXPECT_EQ(fixed.named(payload), event.pid >= 0);
    EXPECT_EQ(fixed.registers(), event.regs_mask);
    EXPECT_EQ(fixed.has_tag(), event.has_tag);
    EXPECT_EQ(fixed.tag_from(), event.tag_from);
    EXPECT_EQ(fixed.source(), event.source);
    if (event.regs_mask != 0) {
      EXPECT_EQ(fixed.register_values(payload), payload + event.regs_offset);
    }
    EXPECT_EQ(fixed.record_words(), bytes.size() / 8);
    ASSERT_EQ(decode_sample(format, 5, record, batch), RecordOutcome::kDecoded);
    expect_same(batch, batch.events[0], batch.events[1]);
  }
  EXPECT_GT(short_ways, 1000);
}

// The kernel leaves out the hardware index where a sample has no branch stack at all.
TEST(SampleProperty, EmptyBranchStackWithoutIndex) {
  EventFormat format;
  format.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT;
  format.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  test::SampleFields fields;
  fields.ip = 0x1000;
  fields.weight = 77;
  fields.branch_index_present = false;
  auto bytes = test::encode_sample(format, fields);
  SampleView view;
  ASSERT_TRUE(parse_sample(format, std::span(bytes).subspan(8), view));
  EXPECT_EQ(view.weight, 77u);
  EXPECT_TRUE(view.branches.empty());
}

}  // namespace
}  // namespace tailor::capture
