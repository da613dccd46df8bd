#include "daemon/bpf/sample_encoder.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/register_masks.h"
#include "daemon/capture/decode/sample_view.h"
#include "tailor/thread_area.h"

namespace tailor::bpf {
namespace {

std::vector<capture::EventSpec> two_events() {
  capture::EventSpec faults;
  faults.name = "page-faults";
  faults.unit = profile::Unit::kEvents;
  faults.address = true;
  faults.period = 1;
  return {capture::cpu_clock(1000), faults};
}

tailor_bpf_sample sample_of(std::uint16_t source, bool kernel) {
  tailor_bpf_sample sample{};
  sample.time = 77;
  sample.period = 999;
  sample.ip = kernel ? 0xffffffff81000000 : 0x401000;
  sample.address = 0xdead000;
  sample.pid = 100;
  sample.tid = 101;
  sample.cpu = 3;
  sample.source = source;
  sample.kernel = kernel;
  sample.has_registers = 1;
  sample.slot_tag = 0x5107;
  sample.state.execution = TAILOR_NO_STATE;  // not asked for
  for (unsigned i = 0; i < TAILOR_BPF_REGISTERS; ++i) sample.registers[i] = 0x1000 + i;
  return sample;
}

capture::Batch decoded(const capture::RingLayout& layout, const std::vector<std::byte>& bytes) {
  auto decoder = capture::RecordDecoder::create(layout);
  EXPECT_TRUE(decoder.ok());
  capture::Batch batch;
  decoder->decode(bytes, batch);
  EXPECT_EQ(decoder->counts().decoded, decoder->counts().records);
  return batch;
}

TEST(SampleEncoder, IsDecodedAsPerfsOwn) {
  for (bool all_registers : {false, true}) {
    const capture::RingLayout layout = layout_of(two_events(), all_registers, false);
    std::vector<std::byte> bytes;
    ASSERT_TRUE(encode_sample(layout, sample_of(0, false), {}, 5000, bytes));
    ASSERT_TRUE(encode_sample(layout, sample_of(1, true), {}, 6000, bytes));
    capture::Batch batch = decoded(layout, bytes);
    ASSERT_EQ(batch.events.size(), 2u);
    const capture::Event& user = batch.events[0];
    EXPECT_EQ(user.kind, capture::Kind::kSample);
    EXPECT_EQ(user.mode, profile::Mode::kUser);
    EXPECT_EQ(user.source, 0);
    EXPECT_EQ(user.time, 5000);
    EXPECT_EQ(user.cpu, 3u);
    EXPECT_EQ(user.pid, 100);
    EXPECT_EQ(user.tid, 101);
    EXPECT_EQ(user.weight, 999u);
    EXPECT_EQ(user.ip, 0x401000u);
    EXPECT_EQ(batch.reg(user, PERF_REG_X86_R15), 0x1000u + 16);
    EXPECT_EQ(batch.reg(user, PERF_REG_X86_SP).has_value(), all_registers);
    EXPECT_EQ(batch.reg(user, capture::kSlotPlace), 0x5107u);
    const capture::Event& kernel = batch.events[1];
    EXPECT_EQ(kernel.mode, profile::Mode::kKernel);
    EXPECT_EQ(kernel.source, 1);
    EXPECT_TRUE(kernel.has_address);
    EXPECT_EQ(kernel.address, 0xdead000u);
    EXPECT_EQ(kernel.user_ip, 0x1000u + 8);
    EXPECT_EQ(batch.reg(kernel, PERF_REG_X86_R13), 0x1000u + 14);
    EXPECT_EQ(batch.reg(kernel, PERF_REG_X86_R15), 0x1000u + 16);
  }
}

TEST(SampleEncoder, WithoutRegistersThereAreNone) {
  const capture::RingLayout layout = layout_of(two_events(), false, false);
  tailor_bpf_sample sample = sample_of(0, true);
  sample.has_registers = 0;
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encode_sample(layout, sample, {}, 1, bytes));
  capture::Batch batch = decoded(layout, bytes);
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].regs_mask, 0u);
  EXPECT_EQ(batch.events[0].user_ip, 0u);
}

TEST(SampleEncoder, AStackMakesItAnotherFormat) {
  const capture::RingLayout layout = layout_of(two_events(), false, true);
  ASSERT_EQ(layout.formats.size(), 12u) << "without a state and with one";
  const std::vector<std::byte> stack(64, std::byte{7});
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encode_sample(layout, sample_of(1, false), {stack}, 1, bytes));
  ASSERT_TRUE(encode_sample(layout, sample_of(1, false), {}, 2, bytes));
  capture::Batch batch = decoded(layout, bytes);
  ASSERT_EQ(batch.events.size(), 2u);
  EXPECT_TRUE(batch.reg(batch.events[0], PERF_REG_X86_SP).has_value());
  EXPECT_FALSE(batch.reg(batch.events[1], PERF_REG_X86_SP).has_value());
}

TEST(SampleEncoder, TheUpperPieceOfAStackLiesBehindTheLower) {
  const capture::RingLayout layout = layout_of(two_events(), false, true);
  const std::vector<std::byte> lower(64, std::byte{7}), upper(32, std::byte{8});
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encode_sample(layout, sample_of(0, false),
                            {.stack = lower, .anchor = {0xA1, 0xA2, 0xA3}, .upper_at = 0xA4, .upper = upper},
                            1, bytes));
  capture::SampleView view;
  constexpr std::size_t kHeader = 8;
  ASSERT_TRUE(capture::parse_sample(layout.formats[2], std::span(bytes).subspan(kHeader), view));
  EXPECT_EQ(view.stack_dynamic_size, lower.size());
  ASSERT_EQ(view.stack.size(), lower.size() + upper.size());
  EXPECT_EQ(view.stack[lower.size() - 1], lower[0]);
  EXPECT_EQ(view.stack[lower.size()], upper[0]);
  // In the places behind the registers that there are.
  const std::size_t first = std::popcount(view.user_registers.mask & ~capture::kAnchorPlaces);
  ASSERT_EQ(view.user_registers.values.size(), first + 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(view.user_registers.values[first + i], 0xA1 + i);
  EXPECT_EQ(decoded(layout, bytes).events.size(), 1u);
}

TEST(SampleEncoder, ObjectsAreRawDataBesideAStack) {
  const capture::RingLayout layout = layout_of(two_events(), false, true);
  const std::vector<std::byte> stack(64, std::byte{7});
  const std::vector<__u64> objects = {0x1000, 0, 0x2001};
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encode_sample(layout, sample_of(0, false), {stack, 0x18, objects}, 1, bytes));
  ASSERT_TRUE(encode_sample(layout, sample_of(0, false), {{}, 0x18, objects}, 2, bytes));
  const capture::EventFormat& format = layout.formats[4];
  perf_event_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  capture::SampleView sample;
  ASSERT_TRUE(capture::parse_sample(
      format, std::span(bytes).subspan(sizeof header, header.size - sizeof header), sample));
  ASSERT_EQ(sample.raw.size(), 4 + 3 * 8u);
  std::uint32_t method = 0;
  std::memcpy(&method, sample.raw.data(), 4);
  EXPECT_EQ(method, 0x18u);
  EXPECT_EQ(std::memcmp(sample.raw.data() + 4, objects.data(), 24), 0);
  EXPECT_EQ(sample.stack.size(), 64u);
  EXPECT_EQ(decoded(layout, bytes).events.size(), 2u);
}

// With a stack and without one, in sums and for threads that leave the CPU.
TEST(SampleEncoder, AStateMakesItAnotherFormat) {
  constexpr std::uint16_t kSwitches = 2;
  const capture::RingLayout layout = layout_of(two_events(), false, true, kSwitches);
  const std::vector<std::byte> stack(64, std::byte{7});
  tailor_bpf_sample with = sample_of(0, false), outside = with, without_slot = with;
  with.state = {0xE1, 0xA1, 0x4'0000'0007};
  outside.state = {0, 0, 0};
  without_slot.state = {TAILOR_NO_STATE, TAILOR_BPF_NO_SLOT, 0};
  tailor_bpf_sample leaves = with;
  leaves.source = kSwitches;
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encode_sample(layout, with, {}, 1, bytes));
  ASSERT_TRUE(encode_sample(layout, with, {stack}, 2, bytes));
  ASSERT_TRUE(encode_sample(layout, outside, {}, 3, bytes));
  ASSERT_TRUE(encode_sample(layout, without_slot, {}, 4, bytes));
  ASSERT_TRUE(encode_sample(layout, sample_of(0, false), {}, 5, bytes));
  ASSERT_TRUE(encode_sample(layout, leaves, {}, 6, bytes));
  tailor_bpf_sum_key key{};
  key.has_registers = 1;
  key.state = with.state;
  key.state.execution = TAILOR_BPF_SOME_EXECUTION;
  ASSERT_TRUE(encode_sum(
      layout, key, {.samples = 3, .weight = 3000, .last = 7, .ip = 1, .execution = 0xE1, .cpu = 0, .zero = 0},
      7, bytes));
  const capture::Batch batch = decoded(layout, bytes);
  ASSERT_EQ(batch.events.size(), 7u);
  const auto words_of = [&](std::size_t i) {
    const std::uint64_t* state = batch.state(batch.events[i]);
    return state == nullptr ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>(state, state + 3);
  };
  const std::vector<std::uint64_t> work = {0xE1, 0xA1, 0x4'0000'0007};
  EXPECT_EQ(words_of(0), work);
  EXPECT_EQ(words_of(1), work);
  EXPECT_EQ(words_of(2), (std::vector<std::uint64_t>{0, 0, 0})) << "for nobody is a state, too";
  EXPECT_EQ(words_of(3), (std::vector<std::uint64_t>{TAILOR_NO_STATE, capture::kNoSlot, 0}));
  EXPECT_EQ(words_of(4), std::vector<std::uint64_t>());
  EXPECT_EQ(words_of(5), work);
  EXPECT_EQ(words_of(6), work);
  for (const capture::Event& event : batch.events)
    EXPECT_EQ(batch.reg(event, capture::kSlotPlace).has_value(), true);
}

TEST(SampleEncoder, AnUnknownSourceIsRefused) {
  std::vector<std::byte> bytes;
  EXPECT_FALSE(encode_sample(layout_of(two_events(), false, false), sample_of(2, false), {}, 1, bytes));
  EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace tailor::bpf
