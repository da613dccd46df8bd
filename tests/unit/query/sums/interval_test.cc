#include "daemon/query/sums/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tailor::query {
namespace {

TEST(Wilson, PublishedValues) {
  // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, Table I, method 3.
  EXPECT_NEAR(wilson(81.0 / 263, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(wilson(81.0 / 263, 263).high, 0.3662, 5e-5);
  EXPECT_NEAR(wilson(15.0 / 148, 148).low, 0.0624, 5e-5);
  EXPECT_NEAR(wilson(15.0 / 148, 148).high, 0.1605, 5e-5);
  EXPECT_NEAR(wilson(0, 20).high, 0.1611, 5e-5);
  EXPECT_NEAR(wilson(1.0 / 29, 29).low, 0.0061, 5e-5);
  EXPECT_NEAR(wilson(1.0 / 29, 29).high, 0.1718, 5e-5);
}

TEST(Wilson, EdgesStayInside) {
  for (double n : {0.0, 0.5, 1.0, 10.0, 1e9}) {
    for (double p : {0.0, 1e-9, 0.5, 1.0, 1.0000001}) {
      const Interval i = wilson(p, n);
      EXPECT_GE(i.low, 0);
      EXPECT_LE(i.high, 1);
      EXPECT_LE(i.low, i.high);
      EXPECT_LE(i.low, p);
      EXPECT_GE(i.high + 1e-6, p);
    }
  }
}

TEST(Wilson, CoversTheTruthAboutNinetyFiveTimesInAHundred) {
  std::mt19937 random(7);
  int covered = 0;
  constexpr int kRounds = 4000, kSamples = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::binomial_distribution<int> hits(kSamples, 0.07);
    const Interval i = wilson(hits(random) / static_cast<double>(kSamples), kSamples);
    covered += i.low <= 0.07 && 0.07 <= i.high;
  }
  EXPECT_NEAR(covered / static_cast<double>(kRounds), 0.95, 0.02);
}

TEST(Student, HasTheQuantilesOfTables) {
  EXPECT_NEAR(student95(1), 12.706, 1e-3);
  EXPECT_NEAR(student95(10), 2.228, 1e-3);
  EXPECT_NEAR(student95(11), 2.201, 3e-3);
  EXPECT_NEAR(student95(30), 2.042, 1e-3);
  EXPECT_NEAR(student95(1e9), 1.960, 1e-3);
  EXPECT_EQ(student95(2.9), student95(2)) << "wider where it is not whole";
  EXPECT_EQ(student95(0), student95(1));
  EXPECT_EQ(student95(std::nan("")), student95(1));
}

}  // namespace
}  // namespace tailor::query
