// What all executions cost, from those that were drawn: right on average, and inside the interval as often as
// it says. Twins whose draw depends on what an execution costs must fail.
#include "daemon/query/sums/drawn_total.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace tailor::query {
namespace {

constexpr double kPeriod = 1e6;  // ns of CPU time per sample
constexpr std::uint64_t kExecutions = 400;
constexpr int kTrials = 400;

using Random = std::mt19937_64;
using Draw = std::function<bool(double cost, Random&)>;

// Costs of executions differ by a factor of some ten.
std::vector<double> costs(Random& random) {
  std::lognormal_distribution<double> cost(std::log(20e6), 0.8);
  std::vector<double> out(kExecutions);
  for (double& each : out) each = cost(random);
  return out;
}

struct Tried {
  double error = 0;   // of the mean of the estimates, in its standard errors
  double inside = 0;  // share of the intervals that hold the truth
};

Tried try_out(const Draw& draw) {
  Random random(11);
  double sum = 0, squares = 0;
  int inside = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    DrawnSum sampled;
    double truth = 0;
    for (const double cost : costs(random)) {
      truth += cost;
      const double samples = static_cast<double>(std::poisson_distribution<int>(cost / kPeriod)(random));
      sampled.add(draw(cost, random), samples * kPeriod, samples);
    }
    const auto total = drawn_total(std::array{sampled});
    EXPECT_TRUE(total);
    if (!total) return {};
    const double relative = total->weight / truth - 1;
    sum += relative;
    squares += relative * relative;
    inside += total->low <= truth && truth <= total->high;
  }
  const double mean = sum / kTrials, deviation = std::sqrt(squares / kTrials - mean * mean);
  return {mean / (deviation / std::sqrt(kTrials)), static_cast<double>(inside) / kTrials};
}

bool is_right(const Tried& tried) {
  return std::abs(tried.error) < 4 && tried.inside > 0.90 && tried.inside < 0.99;
}

TEST(DrawnTotal, IsUnbiasedAndItsIntervalHolds) {
  const Tried tried = try_out([](double, Random& random) { return random() % 8 == 0; });
  EXPECT_LT(std::abs(tried.error), 4);
  EXPECT_GT(tried.inside, 0.90);
  EXPECT_LT(tried.inside, 0.99);
}

// Twins: what long executions cost is then counted too often, or too seldom.
TEST(DrawnTotal, ADrawThatDependsOnTheCostIsNoticed) {
  EXPECT_FALSE(is_right(
      try_out([](double cost, Random& random) { return random() % 1000 < (cost > 20e6 ? 150 : 100); })));
  EXPECT_FALSE(
      is_right(try_out([](double cost, Random& random) { return random() % 8 == 0 && cost < 80e6; })));
}

TEST(DrawnTotal, PartsOfDifferentSharesAreAddedUp) {
  DrawnSum all, half;
  for (int i = 0; i < 10; ++i) all.add(true, 100, 1e6);
  for (int i = 0; i < 10; ++i) half.add(i % 2 == 0, 7, 1e6);
  const auto total = drawn_total(std::array{all, half});
  ASSERT_TRUE(total);
  EXPECT_DOUBLE_EQ(total->weight, 1070);
  EXPECT_EQ(total->executions, 20u);
  EXPECT_EQ(total->drawn, 15u);
  EXPECT_LE(total->low, total->weight);
  EXPECT_GE(total->low, 1035) << "no less than what was sampled";
}

TEST(DrawnTotal, IsNotTheWordWhereItIsNotKnown) {
  DrawnSum everything, one;
  everything.add(true, 5, 5);
  EXPECT_FALSE(drawn_total(std::array{everything})) << "nothing to estimate";
  one.add(true, 5, 5);
  one.add(false, 0, 0);
  EXPECT_FALSE(drawn_total(std::array{one})) << "one tells nothing of how much they differ";
  EXPECT_FALSE(drawn_total(std::array<DrawnSum, 1>{}));
}

}  // namespace
}  // namespace tailor::query
