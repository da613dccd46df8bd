#include "daemon/session/overhead_control.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

using capture::CaptureOptions;
using capture::EventSpec;

constexpr ProcessId kProcess{10, 1};
constexpr TimeNs kSecond = 1'000'000'000;

struct Costs {
  double ns = 10'000;
  int trials = 0;
  OverheadControl::Trial trial() {
    return [this](const EventSpec&, const CaptureOptions&, int) -> Result<double> {
      ++trials;
      return ns;
    };
  }
};

EventSpec counter() {
  EventSpec spec;
  spec.name = "cycles:pp";
  spec.mechanism = capture::Mechanism::kPebs;
  spec.unit = profile::Unit::kEvents;
  spec.period = 10'007;
  return spec;
}

TEST(OverheadControl, GivesAClockThePeriodItsCostAllows) {
  Costs costs;
  OverheadControl control({0.01, 5}, costs.trial());
  CaptureOptions options;
  options.events = {capture::cpu_clock(10'000)};
  ASSERT_TRUE(control.begin(kProcess, 0, options).ok());
  EXPECT_GE(options.events[0].period, 1'000'000u);
  EXPECT_LE(options.events[0].period, 1'101'000u);
  const std::string words = control.text(kProcess);
  EXPECT_NE(words.find("at most 1 %"), std::string::npos) << words;
  EXPECT_NE(words.find("10.0 us"), std::string::npos) << words;
  EXPECT_NE(words.find("seed 5"), std::string::npos) << words;
}

TEST(OverheadControl, TheAllowanceIsForAllSourcesTogether) {
  Costs costs;
  OverheadControl control({0.01, 5}, costs.trial());
  CaptureOptions options;
  options.events = {capture::cpu_clock(10'000), counter(), capture::off_cpu()};
  ASSERT_TRUE(control.begin(kProcess, 0, options).ok());
  EXPECT_GE(options.events[0].period, 2'000'000u);
  EXPECT_GE(options.events[1].period, 8'000'000u);  // four events in a nanosecond, until some were seen
  EXPECT_EQ(options.events[2].period, 1u);          // every switch
}

TEST(OverheadControl, ATenTimesDearerSourceIsSampledATenthAsOftenAfterTheNextChecks) {
  Costs costs;
  OverheadControl control({0.01, 5, kSecond}, costs.trial());
  CaptureOptions options;
  options.events = {capture::cpu_clock(10'000)};
  ASSERT_TRUE(control.begin(kProcess, 0, options).ok());
  const double before = static_cast<double>(options.events[0].period);
  costs.ns *= 10;
  double after = 0;
  for (int round = 1; round <= 6; ++round) {
    EXPECT_TRUE(control.due(round * kSecond - 1).empty());
    ASSERT_EQ(control.due(round * kSecond).size(), 1u);
    control.check();
    after = static_cast<double>(control.draw(kProcess, round * kSecond, {}).events[0].period);
  }
  EXPECT_GT(after / before, 8.5);
  EXPECT_LT(after / before, 11.5);
}

TEST(OverheadControl, LearnsHowOftenACounterComes) {
  Costs costs;
  OverheadControl control({0.01, 5, kSecond}, costs.trial());
  CaptureOptions options;
  options.events = {counter()};
  ASSERT_TRUE(control.begin(kProcess, 0, options).ok());
  TargetProgress progress;
  progress.samples = {0};
  for (int round = 1; round <= 4; ++round) {
    // A second of CPU time at half an event a nanosecond.
    progress.cpu_ns += 1'000'000'000;
    progress.samples[0] += 500'000'000 / options.events[0].period;
    options = control.draw(kProcess, round * kSecond, progress);
  }
  const double samples = 5e8 / static_cast<double>(options.events[0].period);
  EXPECT_NEAR(samples * costs.ns / 1e9, 0.0095, 0.001);
}

TEST(OverheadControl, FailsWhereTheCostCannotBeFoundOut) {
  OverheadControl control({0.01, 5}, [](const EventSpec&, const CaptureOptions&, int) -> Result<double> {
    return Error{"denied"};
  });
  CaptureOptions options;
  options.events = {capture::cpu_clock(1000)};
  auto begun = control.begin(kProcess, 0, options);
  ASSERT_FALSE(begun.ok());
  EXPECT_NE(begun.error().message.find("denied"), std::string::npos);
}

TEST(OverheadControl, OneTrialServesAllProcesses) {
  Costs costs;
  OverheadControl control({0.01, 5}, costs.trial());
  for (std::int32_t pid = 1; pid <= 5; ++pid) {
    CaptureOptions options;
    options.events = {capture::cpu_clock(1000)};
    ASSERT_TRUE(control.begin({pid, 1}, 0, options).ok());
  }
  EXPECT_EQ(costs.trials, 1);
}

}  // namespace
}  // namespace tailor::session
