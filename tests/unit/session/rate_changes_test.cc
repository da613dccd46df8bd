// A recorder on a kernel that we play, whose processes get other rates while they are sampled.
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/session/recorder.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/played_kernel.h"

namespace tailor::session {
namespace {

using std::chrono::seconds;
using test::step_for, test::step_until;

constexpr pid_t kOne = 4242, kTwo = 4243;
constexpr TimeNs kSecond = 1'000'000'000;

class Kernel : public test::PlayedKernel {
 public:
  Kernel() {
    add_process(kOne);
    add_process(kTwo);
    fail_open = [this](const perf_event_attr& attr, pid_t, int) {
      return attr.sample_period < least_period ? EMFILE : 0;
    };
    fail_ioctl = [this](unsigned long request) {
      if (request == PERF_EVENT_IOC_ENABLE) ++enabled;
      if (request == PERF_EVENT_IOC_DISABLE) ++disabled;
      return 0;
    };
  }

  std::uint64_t least_period = 0;
  int enabled = 0, disabled = 0;
};

capture::CaptureOptions at(std::uint64_t hz) {
  capture::CaptureOptions options;
  options.events.push_back(capture::cpu_clock(hz));
  options.sampled_by = capture::SampledBy::kPerf;
  options.placement = capture::Placement::kPerThread;
  options.jitter = false;
  return options;
}

// The usual rate, with more in each sample.
Rate with_more(bool callchain, bool memory) {
  capture::CaptureOptions options = at(100);
  options.callchain = callchain;
  options.all_registers = memory;
  return {100, kTimeMax, "asked for", std::make_shared<const capture::CaptureOptions>(options)};
}

Rate rate(std::uint64_t hz, const std::string& why = "asked for") {
  return {hz, kTimeMax, why, std::make_shared<const capture::CaptureOptions>(at(hz))};
}

class RateChange : public testing::Test {
 protected:
  void SetUp() override {
    RecorderOptions live;
    live.agent_socket = (directory_.path() / "agent.sock").string();
    live.by_step = true;
    live.capture = at(100);
    auto started = Recorder::start(kernel_, live, sink_, [this](const pipeline::Problem& problem) {
      problems_.push_back(problem.text);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    recorder_ = std::move(*started);
    attach(kOne);
  }
  void attach(pid_t pid) {
    const Status attached = recorder_->attach({{pid, 1}, "target"}, at(100));
    ASSERT_TRUE(attached.ok()) << attached.error().message;
  }
  std::uint64_t period_of(pid_t pid) { return kernel_.event_of(pid).attr.sample_period; }
  std::vector<profile::RateSpan> spans() {
    recorder_->run([] {});  // a status is published after it
    return recorder_->status().recording.rates;
  }

  test::TemporaryDirectory directory_;
  Kernel kernel_;
  test::CollectingSink sink_;
  std::vector<std::string> problems_;
  std::unique_ptr<Recorder> recorder_;
};

const std::uint64_t kUsual = capture::cpu_clock(100).period, kRaised = capture::cpu_clock(1000).period;

TEST_F(RateChange, OtherEventsTakeThePlaceAndEverySampleHasItsOwnWeight) {
  attach(kTwo);
  EXPECT_EQ(period_of(kOne), kUsual);
  kernel_.sample_now(kernel_.event_of(kOne), 5);
  recorder_->flush();
  auto changed = recorder_->set_rate(kOne, rate(1000), 0);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->processes, std::vector<ProcessId>({{kOne, 1}}));
  EXPECT_EQ(period_of(kOne), kRaised);
  EXPECT_EQ(period_of(kTwo), kUsual) << "another process";
  recorder_->step(test::kStep);
  EXPECT_GT(kernel_.enabled, 0);
  EXPECT_GT(kernel_.disabled, 0) << "the old events take nothing more";
  kernel_.sample_now(kernel_.event_of(kOne), 7);
  recorder_->flush();
  ASSERT_TRUE(recorder_->reset_rate(kOne).ok());
  EXPECT_EQ(period_of(kOne), kUsual);
  kernel_.sample_now(kernel_.event_of(kOne), 3);
  recorder_->flush();
  recorder_->stop();
  std::map<std::uint64_t, int> by_weight;
  for (const profile::SampleRecord& sample : sink_.samples) ++by_weight[sample.weight];
  EXPECT_EQ(by_weight, (std::map<std::uint64_t, int>{{kUsual, 8}, {kRaised, 7}}));
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

TEST_F(RateChange, TheProfileSaysWhenAndWhy) {
  ASSERT_TRUE(recorder_->set_rate(kOne, rate(1000, "somebody asked"), 0).ok());
  ASSERT_EQ(spans().size(), 1u);
  EXPECT_EQ(spans()[0].frequency, 1000u);
  EXPECT_EQ(spans()[0].why, "somebody asked");
  EXPECT_EQ(spans()[0].to, kTimeMax);
  ASSERT_TRUE(recorder_->reset_rate(kOne).ok());
  EXPECT_NE(spans()[0].to, kTimeMax);
  EXPECT_EQ(sink_.recording.rates.size(), 1u);
  const auto again = recorder_->reset_rate(kOne);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::kNotFound);
}

TEST_F(RateChange, IsOverByItself) {
  ASSERT_TRUE(recorder_->set_rate(kOne, rate(1000), 10 * kSecond).ok());
  EXPECT_EQ(period_of(kOne), kRaised);
  EXPECT_NE(recorder_->status().processes.size(), 0u);
  step_for(*recorder_, seconds(9));
  EXPECT_EQ(period_of(kOne), kRaised);
  EXPECT_TRUE(step_until(*recorder_, seconds(2), [&] { return period_of(kOne) == kUsual; }));
  EXPECT_NE(spans()[0].to, kTimeMax);
}

// The events are the same, and what their samples bring is not: so they are opened anew, and nothing is taken
// twice or forgotten.
TEST_F(RateChange, SamplesBringMoreForAWhile) {
  const auto brings_chain = [&] {
    return (kernel_.event_of(kOne).attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
  };
  const auto registers = [&] { return kernel_.event_of(kOne).attr.sample_regs_user; };
  const std::uint64_t few = registers();
  EXPECT_FALSE(brings_chain());
  kernel_.sample_now(kernel_.event_of(kOne), 5);
  ASSERT_TRUE(recorder_->set_rate(kOne, with_more(true, true), 10 * kSecond).ok());
  EXPECT_TRUE(brings_chain());
  EXPECT_NE(registers(), few);
  EXPECT_EQ(period_of(kOne), kUsual) << "the rate stays";
  ASSERT_EQ(spans().size(), 1u);
  EXPECT_EQ(spans()[0].frequency, 100u);
  recorder_->step(test::kStep);
  kernel_.sample_now(kernel_.event_of(kOne), 7);
  step_for(*recorder_, seconds(9));
  EXPECT_TRUE(brings_chain());
  EXPECT_TRUE(step_until(*recorder_, seconds(2), [&] { return !brings_chain(); }));
  EXPECT_EQ(registers(), few);
  EXPECT_NE(spans()[0].to, kTimeMax);
  kernel_.sample_now(kernel_.event_of(kOne), 3);
  recorder_->flush();
  recorder_->stop();
  EXPECT_EQ(sink_.samples.size(), 15u);
  for (const profile::SampleRecord& sample : sink_.samples) EXPECT_EQ(sample.weight, kUsual);
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

TEST_F(RateChange, ThatOfAllIsAlsoOfThoseThatComeLater) {
  auto changed = recorder_->set_rate(std::nullopt, rate(1000), 0);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(period_of(kOne), kRaised);
  attach(kTwo);
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return period_of(kTwo) == kRaised; }));
  ASSERT_TRUE(recorder_->set_rate(kTwo, rate(500), 0).ok());
  ASSERT_TRUE(recorder_->reset_rate(std::nullopt).ok());
  EXPECT_EQ(period_of(kOne), kUsual);
  EXPECT_EQ(period_of(kTwo), capture::cpu_clock(500).period) << "it has one of its own";
}

TEST_F(RateChange, LastsOverAPause) {
  ASSERT_TRUE(recorder_->set_rate(kOne, rate(1000), 10 * kSecond).ok());
  ASSERT_TRUE(recorder_->pause(kOne).ok());
  EXPECT_EQ(recorder_->set_rate(kOne, rate(500), 0).error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(recorder_->resume(kOne).ok());
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return period_of(kOne) == kRaised; }));
  ASSERT_TRUE(recorder_->pause(kOne).ok());
  step_for(*recorder_, seconds(11));
  ASSERT_TRUE(recorder_->resume(kOne).ok());
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return period_of(kOne) == kUsual; }));
}

TEST_F(RateChange, WhatCannotBeOpenedLeavesTheOldRate) {
  kernel_.least_period = kUsual;
  const auto refused = recorder_->set_rate(kOne, rate(1000), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the old rate stays"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(spans().empty());
  kernel_.sample_now(kernel_.event_of(kOne), 5);
  recorder_->flush();
  recorder_->stop();
  ASSERT_EQ(sink_.samples.size(), 5u);
  EXPECT_EQ(sink_.samples[0].weight, kUsual);
}

TEST_F(RateChange, OfAProcessThatIsNotSampledThereIsNone) {
  const auto refused = recorder_->set_rate(77, rate(1000), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tailor::session
