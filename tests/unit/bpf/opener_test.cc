#include "daemon/bpf/opener.h"

#include <gtest/gtest.h>

#include "daemon/bpf/suited_events.h"
#include "tests/support/fake_os.h"

namespace tailor::bpf {
namespace {

capture::CaptureOptions clock_options(capture::SampledBy by) {
  capture::CaptureOptions options;
  options.sampled_by = by;
  options.events = {capture::cpu_clock(1000)};
  return options;
}

std::string all(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

class OpenerTest : public testing::Test {
 protected:
  OpenerTest() {
    os.set_online_cpus("0-1");
    os.add_threads(10, {10});
  }
  test::FakeOs os;
  Opener opener;
};

TEST_F(OpenerTest, AHostWithoutTypeInformationFallsBackAndSaysSo) {
  auto options = clock_options(capture::SampledBy::kAuto);
  options.events[0].mechanism = capture::Mechanism::kCounter;
  auto recording = opener.open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const std::string notes = all((*recording)->notes());
  EXPECT_NE(notes.find("though BPF would see more: the kernel has no type information"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("cpu-clock by perf: tag from the register; in kernel mode hidden"), std::string::npos)
      << notes;
  EXPECT_EQ((*recording)->ring_count(), 2u);
}

TEST_F(OpenerTest, WhatWasAskedForByNameDoesNotFallBack) {
  auto refused = opener.open(os, 10, clock_options(capture::SampledBy::kBpf));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/sys/kernel/btf/vmlinux"), std::string::npos);
}

TEST_F(OpenerTest, AContainerIsNamed) {
  os.sys_files().write("kernel/btf/vmlinux", "");
  auto refused = opener.open(os, 10, clock_options(capture::SampledBy::kBpf));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("pid namespace"), std::string::npos);
}

TEST_F(OpenerTest, PerfWhereItWasAskedForAndWhereItSeesAll) {
  for (auto by : {capture::SampledBy::kPerf, capture::SampledBy::kAuto}) {
    auto recording = opener.open(os, 10, clock_options(by));
    ASSERT_TRUE(recording.ok());
    EXPECT_EQ(all((*recording)->notes()).find("BPF"), std::string::npos);
    EXPECT_NE(all((*recording)->notes()).find("in kernel mode the registers saved at entry"),
              std::string::npos);
  }
}

// Slots are read by BPF alone.
TEST_F(OpenerTest, WithEveryStackBpfIsAskedForFirst) {
  auto options = clock_options(capture::SampledBy::kAuto);
  options.stacks = capture::Stacks::kAlways;
  auto recording = opener.open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_NE(all((*recording)->notes()).find("though BPF would see more"), std::string::npos);
  options.callchain = true;
  recording = opener.open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_EQ(all((*recording)->notes()).find("BPF"), std::string::npos) << "call chains are perf's";
}

TEST_F(OpenerTest, AdaptiveStacksWithoutBpfComeWithEverySampleOfATimer) {
  auto options = clock_options(capture::SampledBy::kAuto);
  options.stacks = capture::Stacks::kAdaptive;
  auto recording = opener.open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const std::string notes = all((*recording)->notes());
  EXPECT_NE(notes.find("though BPF would see more: the kernel has no type information"), std::string::npos);
  EXPECT_NE(notes.find("every sample brings its stack"), std::string::npos) << notes;
}

TEST(SettleStacks, NoStackWhereItWouldCostTooMuchOrTakeAnotherThingAway) {
  using capture::Stacks;
  const auto settled = [](std::vector<capture::EventSpec> events, Stacks stacks, bool callchain = false) {
    capture::CaptureOptions options;
    options.events = std::move(events);
    options.stacks = stacks;
    options.callchain = callchain;
    settle_stacks_for_perf(options);
    EXPECT_EQ(options.reasons.empty(), stacks != Stacks::kAdaptive || callchain);
    return options.stacks;
  };
  const capture::EventSpec slow = capture::cpu_clock(1000), fast = capture::cpu_clock(10'000);
  EXPECT_EQ(settled({slow}, Stacks::kAdaptive), Stacks::kAlways);
  EXPECT_EQ(settled({fast}, Stacks::kAdaptive), Stacks::kNone);
  EXPECT_EQ(settled({slow, capture::off_cpu()}, Stacks::kAdaptive), Stacks::kNone);
  EXPECT_EQ(settled({slow}, Stacks::kAdaptive, true), Stacks::kNone);
  EXPECT_EQ(settled({fast}, Stacks::kAlways), Stacks::kAlways);
  EXPECT_EQ(settled({slow}, Stacks::kNone), Stacks::kNone);
  capture::EventSpec records, rest;
  records.mechanism = capture::Mechanism::kPebs;
  records.part = capture::Part::kRecords;
  rest.mechanism = capture::Mechanism::kCounter;
  rest.part = capture::Part::kRest;
  records.period = rest.period = 3'000'000;
  EXPECT_EQ(settled({records, rest}, Stacks::kAdaptive), Stacks::kAlways) << "those of the counter";
  rest.period = 300'000;
  EXPECT_EQ(settled({records, rest}, Stacks::kAdaptive), Stacks::kNone);
}

TEST_F(OpenerTest, SuitsWhatAnInterruptTakes) {
  EXPECT_TRUE(suits(capture::cpu_clock(1000)));
  EXPECT_FALSE(suits(capture::off_cpu()));
  EXPECT_FALSE(suits(capture::sideband_only()));
  capture::EventSpec pebs;
  pebs.mechanism = capture::Mechanism::kPebs;
  EXPECT_FALSE(suits(pebs));
  auto refused = [&] {
    auto options = clock_options(capture::SampledBy::kBpf);
    options.events = {pebs};
    return opener.open(os, 10, options);
  }();
  ASSERT_FALSE(refused.ok());
}

}  // namespace
}  // namespace tailor::bpf
