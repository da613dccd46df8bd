#include "daemon/clock/conversion.h"

#include <gtest/gtest.h>

#include <random>

namespace tailor::clock {
namespace {

Conversion three_ghz() {
  return {.from_tsc = 1000, .base_ns = 500, .mult = (1ull << 40) / 3, .shift = 40, .drift_ppb = 100};
}

TEST(Conversion, GoesBothWaysFromItsBeginning) {
  EXPECT_EQ(to_ns(three_ghz(), 1000), 500);
  EXPECT_EQ(to_ns(three_ghz(), 1000 + 3'000'003), 500 + 1'000'000);
  EXPECT_EQ(to_ns(three_ghz(), 0), 500 - 334);
}

TEST(Conversion, InverseIsTheLargestTscNotAfterTheTime) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    Conversion c = three_ghz();
    c.shift = 20 + random() % 21;
    c.mult = (1ull << c.shift) / (1 + random() % 5) + random() % 1000;
    const TimeNs ns = static_cast<TimeNs>(random() % 4'000'000'000'000ull) + 500;
    const std::uint64_t tsc = to_tsc(c, ns);
    ASSERT_LE(to_ns(c, tsc), ns);
    ASSERT_GT(to_ns(c, tsc + 1), ns);
  }
}

TEST(Conversion, SaturatesInsteadOfOverflowing) {
  Conversion c = three_ghz();
  c.mult = UINT64_MAX;
  c.shift = 0;
  EXPECT_EQ(to_ns(c, UINT64_MAX), kTimeMax);
  EXPECT_EQ(to_ns(c, 0), kTimeMin);
  c.mult = 1;
  c.shift = 63;
  EXPECT_EQ(to_tsc(c, kTimeMax), UINT64_MAX);
  EXPECT_EQ(to_tsc(c, kTimeMin), 0u);
  c.drift_ppb = UINT64_MAX;
  c.error_ns = 5;
  c.mult = 1ull << 62;
  c.shift = 0;
  EXPECT_GE(error_bound_ns(c, UINT64_MAX), 5u);
}

TEST(Conversion, HoldStandsStill) {
  Conversion c = three_ghz();
  c.mult = 0;
  EXPECT_EQ(to_ns(c, 1'000'000), 500);
  EXPECT_EQ(to_tsc(c, 500), 1000u);
}

TEST(Conversion, BoundGrowsWithDistanceOnBothSides) {
  Conversion c = three_ghz();
  c.error_ns = 10;
  EXPECT_EQ(error_bound_ns(c, 1000), 10u);
  EXPECT_EQ(error_bound_ns(c, 1000 + 3'000'000'003), 110u);
  c.from_tsc = 4'000'000'000;
  EXPECT_EQ(error_bound_ns(c, 4'000'000'000 - 3'000'000'003), 110u);
}

TEST(Conversion, RebasedLiesOnTheSameLine) {
  const Conversion c = three_ghz();
  const Conversion moved = rebased(c, 1'000'000'000);
  EXPECT_EQ(moved.from_tsc, 1'000'000'000u);
  EXPECT_NEAR(to_ns(moved, 5'000'000'000), to_ns(c, 5'000'000'000), 1);
  EXPECT_EQ(moved.error_ns, error_bound_ns(c, 1'000'000'000) + 1);
}

}  // namespace
}  // namespace tailor::clock
