#include "daemon/clock/calibration.h"

#include <gtest/gtest.h>

#include "tests/unit/clock/fake_host.h"

namespace tailor::clock {
namespace {

using Verdict = Calibration::Verdict;

TEST(Calibration, NeedsTwoPairs) {
  FakeHost host;
  Calibration calibration;
  EXPECT_EQ(calibration.add(host.pair()), Verdict::kFits);
  EXPECT_FALSE(calibration.line());
  host.advance_ns(20'000'000);
  EXPECT_EQ(calibration.add(host.pair()), Verdict::kFits);
  EXPECT_TRUE(calibration.line());
}

TEST(Calibration, ErrorStaysWithinTheStatedBound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakeHost host(2'000'000 + seed * 77'777, seed);
    Calibration calibration;
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(calibration.add(host.pair()), Verdict::kFits);
      host.advance_ns(500'000'000);
      const auto line = calibration.line();
      if (!line) continue;
      const auto bound = static_cast<TimeNs>(error_bound_ns(*line, host.now()));
      ASSERT_LE(std::abs(to_ns(*line, host.now()) - host.truth(host.now())), bound);
      if (i > 10) {
        ASSERT_LT(bound, 150);
      }
    }
  }
}

TEST(Calibration, ABreakRestartsTheWindow) {
  FakeHost host;
  Calibration calibration;
  for (int i = 0; i < 10; ++i, host.advance_ns(100'000'000)) (void)calibration.add(host.pair());
  host.step_clock(50'000);
  EXPECT_EQ(calibration.add(host.pair()), Verdict::kBreak);
  EXPECT_EQ(calibration.span(), 0u);
  const auto line = calibration.line();
  ASSERT_TRUE(line);
  EXPECT_NEAR(to_ns(*line, host.now()), host.truth(host.now()), 200);
}

TEST(Calibration, SeesTheTscGoBack) {
  FakeHost host;
  Calibration calibration;
  for (int i = 0; i < 10; ++i, host.advance_ns(100'000'000)) (void)calibration.add(host.pair());
  host.set_tsc(500);
  EXPECT_EQ(calibration.add(host.pair()), Verdict::kTscReset);
}

TEST(Calibration, RejectsNonsense) {
  FakeHost host;
  Calibration calibration;
  (void)calibration.add(host.pair());
  host.advance_ns(1'000'000);
  Pair swapped = host.pair();
  std::swap(swapped.before, swapped.after);
  EXPECT_EQ(calibration.add(swapped), Verdict::kRejected);
  Pair backward = host.pair();
  backward.raw_ns = 0;
  EXPECT_EQ(calibration.add(backward), Verdict::kRejected);
  host.advance_ns(1'000'000);
  EXPECT_EQ(calibration.add(host.pair()), Verdict::kFits);
}

TEST(Calibration, AKnownRateNarrowsTheOffset) {
  FakeHost host;
  Calibration calibration;
  for (int i = 0; i < 40; ++i, host.advance_ns(1'000'000'000)) (void)calibration.add(host.pair());
  const Rate rate = clocksource_rate(2'899'998);
  const auto line = calibration.line_with_rate(rate.mult, rate.shift);
  ASSERT_TRUE(line);
  EXPECT_LT(line->error_ns, 20u);
  EXPECT_LE(std::abs(to_ns(*line, host.now()) - host.truth(host.now())),
            static_cast<TimeNs>(line->error_ns) + 1);
  // A rate that is 1 ppm off fits no offset.
  EXPECT_FALSE(calibration.line_with_rate(rate.mult + rate.mult / 1'000'000, rate.shift));
}

}  // namespace
}  // namespace tailor::clock
