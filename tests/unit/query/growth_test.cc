#include "daemon/query/growth.h"

#include <gtest/gtest.h>

#include <random>

namespace tailor::query {
namespace {

// How many of a thousand pairs of sampled costs have an interval with the true ratio in it.
int hits(double mean_a, double mean_b, double claimed_ratio) {
  std::mt19937_64 random(11);
  std::poisson_distribution<int> draw_a(mean_a), draw_b(mean_b);
  int hits = 0;
  for (int i = 0; i < 1000; ++i) {
    const double a = draw_a(random), b = draw_b(random);
    const auto found = growth({a * 1e6, a, 1}, {b * 1e6, b, 1});
    hits += found && found->low <= claimed_ratio && claimed_ratio <= found->high ? 1 : 0;
  }
  return hits;
}

TEST(Growth, TheIntervalHoldsTheTrueRatio) {
  // 0.1 % quantile of a binomial of 1000 with 95 %: 928.
  EXPECT_GE(hits(400, 400, 1.0), 928);
  EXPECT_GE(hits(100, 130, 1.3), 928);
  EXPECT_GE(hits(30, 3000, 100), 928);
  EXPECT_LT(hits(400, 400, 1.2), 928) << "the broken twin: a wrong ratio is found out";
}

TEST(Growth, IsOfOneExecution) {
  const auto found = growth({1e9, 1000, 10}, {3e9, 3000, 20});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->ratio, 1.5);
  EXPECT_TRUE(found->grew());
  EXPECT_FALSE(found->shrank());
  EXPECT_LT(found->low, found->at_least);
  EXPECT_LT(found->at_least, found->ratio);
}

TEST(Growth, FewSamplesTellNothing) {
  EXPECT_FALSE(growth({4e6, 4, 1}, {1e9, 1000, 1}));
  EXPECT_FALSE(growth({0, 0, 1}, {1e9, 1000, 1}));
}

}  // namespace
}  // namespace tailor::query
