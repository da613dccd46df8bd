#include "daemon/query/reports/growth.h"

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
  EXPECT_LT(found->low, found->ratio);
}

// How often of four thousand pairs of costs that are equal growth is told, though there is none.
int false_alarms(double mean_a, double mean_b, double confidence) {
  std::mt19937_64 random(5);
  std::poisson_distribution<int> draw_a(mean_a), draw_b(mean_b);
  int alarms = 0;
  for (int i = 0; i < 4000; ++i) {
    const double a = draw_a(random), b = draw_b(random);
    alarms += sure_ratio({a, a, mean_a, 1}, {b, b, mean_b, 1}, confidence) > 1 ? 1 : 0;
  }
  return alarms;
}

TEST(SureRatio, IsSeldomTooHigh) {
  // 99.9 % quantiles of binomials of 4000 with 5 % and 0.25 %: 244 and 21.
  for (const auto& [a, b] :
       {std::pair{2.0, 2.0}, {400.0, 400.0}, {5000.0, 5.0}, {5.0, 5000.0}, {30.0, 3000.0}}) {
    EXPECT_LE(false_alarms(a, b, 0.95), 244) << a << " and " << b;
    EXPECT_LE(false_alarms(a, b, 0.9975), 21) << a << " and " << b;
  }
  EXPECT_GT(false_alarms(400, 400, 0.9), 244) << "the broken twin: too little confidence is found out";
}

TEST(SureRatio, TellsWhatIsPlain) {
  EXPECT_GT(sure_ratio({1e9, 1000, 1, 1e6}, {2e9, 2000, 1, 1e6}, 0.95), 1.8);
  EXPECT_LT(sure_ratio({1e9, 1000, 1, 1e6}, {2e9, 2000, 1, 1e6}, 0.95), 2);
  EXPECT_GT(sure_ratio({0, 0, 1, 1e6}, {1e9, 1000, 1, 1e6}, 0.9975), 100) << "nothing before, much now";
  EXPECT_LT(sure_ratio({0, 0, 1, 1e6}, {2e6, 2, 1, 1e6}, 0.95), 1);
  EXPECT_EQ(sure_ratio({1e9, 1000, 1, 1e6}, {0, 0, 1, 1e6}, 0.95), 0);
  EXPECT_NEAR(sure_ratio({1e18, 1e9, 10, 1e9}, {1e18, 1e9, 5, 1e9}, 0.95), 2, 1e-3) << "very many";
  // Samples of another period weigh more.
  EXPECT_NEAR(sure_ratio({1e12, 1e6, 1, 1e6}, {1e12, 1e5, 1, 1e7}, 0.95), 1, 0.01);
}

TEST(Growth, FewSamplesTellNothing) {
  EXPECT_FALSE(growth({4e6, 4, 1}, {1e9, 1000, 1}));
  EXPECT_FALSE(growth({0, 0, 1}, {1e9, 1000, 1}));
}

}  // namespace
}  // namespace tailor::query
