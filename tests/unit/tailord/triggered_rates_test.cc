// Triggers of a recorder on a kernel that we play: what they switch on is in the events of the process for
// their time and within their budget, and no longer.
#include "daemon/tailord/triggered_rates.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/session/recorder.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/played_kernel.h"

namespace tailor::tailord {
namespace {

using std::chrono::seconds;
using test::step_for, test::step_until;

constexpr pid_t kTraced = 4242;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr Raise kMore{0, true, true};
constexpr int kGeneralRegisters = 17;  // with the instruction pointer

capture::CaptureOptions usual_capture() {
  capture::CaptureOptions options;
  options.events.push_back(capture::cpu_clock(100));
  options.sampled_by = capture::SampledBy::kPerf;
  options.placement = capture::Placement::kPerThread;
  options.jitter = false;
  return options;
}

TriggerRule traced(TimeNs budget) {
  TriggerRule rule;
  rule.name = "traced";
  rule.label_key = "trace";
  rule.raise = kMore;
  rule.lasts = 10 * kSecond;
  rule.cool_down = 0;
  rule.budget = budget;
  return rule;
}

class TriggeredEvents : public testing::Test {
 protected:
  void SetUp() override {
    kernel_.add_process(kTraced);
    session::RecorderOptions live;
    live.agent_socket = (directory_.path() / "agent.sock").string();
    live.by_step = true;
    live.capture = usual_capture();
    live.ask_rates = [this](TimeNs now, const std::function<bool(ProcessId)>& may_raise) {
      return triggered_.take(now, may_raise);
    };
    auto started = session::Recorder::start(kernel_, live, sink_, [this](const pipeline::Problem& problem) {
      problems_.push_back(problem.text);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    recorder_ = std::move(*started);
    const Status attached = recorder_->attach({{kTraced, 1}, "target"}, usual_capture());
    ASSERT_TRUE(attached.ok()) << attached.error().message;
  }
  void set(const TriggerRule& rule) {
    capture::CaptureOptions more = usual_capture();
    more.callchain = true;
    more.all_registers = true;
    const session::Rate rate{100, kTimeMax, "", std::make_shared<const capture::CaptureOptions>(more)};
    triggered_.set({rule}, {{rule.raise, rate}});
  }
  void execute() {
    profile::ExecutionRecord execution;
    execution.process = {kTraced, 1};
    execution.handle = ++handle_;
    execution.begin = kernel_.now();
    execution.labels = {{"trace", "yes"}};
    triggered_.triggers().on_execution(execution);
  }
  bool brings_more() {
    const perf_event_attr attr = kernel_.event_of(kTraced).attr;
    return (attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0 &&
           std::popcount(attr.sample_regs_user) >= kGeneralRegisters;
  }
  std::vector<profile::RateSpan> spans() {
    recorder_->run([] {});  // a status is published after it
    return recorder_->status().recording.rates;
  }
  TriggerCounts counts() { return triggered_.triggers().counts().at(0); }

  test::TemporaryDirectory directory_;
  test::PlayedKernel kernel_;
  test::CollectingSink sink_;
  std::vector<std::string> problems_;
  TriggeredRates triggered_{directory_.path()};
  std::unique_ptr<session::Recorder> recorder_;
  std::uint64_t handle_ = 0;
};

TEST_F(TriggeredEvents, LastForTheirTimeAndWithinTheBudget) {
  set(traced(10 * kSecond));
  EXPECT_FALSE(brings_more());
  execute();
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return brings_more(); }));
  ASSERT_EQ(spans().size(), 1u);
  EXPECT_EQ(spans()[0].frequency, 100u);
  EXPECT_EQ(spans()[0].why, "trigger traced: with call chains and data addresses");
  step_for(*recorder_, seconds(5));
  execute();
  step_for(*recorder_, seconds(3));
  EXPECT_TRUE(brings_more());
  EXPECT_EQ(counts().skipped, 1u) << "it is raised already";
  EXPECT_TRUE(step_until(*recorder_, seconds(3), [&] { return !brings_more(); }));
  EXPECT_NE(spans()[0].to, kTimeMax);
  execute();
  step_for(*recorder_, seconds(1));
  EXPECT_FALSE(brings_more());
  EXPECT_EQ(counts().fired, 1u);
  EXPECT_EQ(counts().skipped, 2u) << "the budget of the hour is used up";
  EXPECT_EQ(sink_.recording.rates.size(), 1u) << "the profile knows it";
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

// The twin: the same with more of a budget.
TEST_F(TriggeredEvents, ComeAgainWhereTheBudgetLetsThem) {
  set(traced(20 * kSecond));
  execute();
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return brings_more(); }));
  EXPECT_TRUE(step_until(*recorder_, seconds(12), [&] { return !brings_more(); }));
  execute();
  EXPECT_TRUE(step_until(*recorder_, seconds(1), [&] { return brings_more(); }));
  EXPECT_EQ(counts().fired, 2u);
  EXPECT_EQ(spans().size(), 2u);
}

}  // namespace
}  // namespace tailor::tailord
