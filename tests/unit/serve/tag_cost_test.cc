// What tags cost, from executions with and without: an injected cost is found, none is not. The twin counts
// executions without tags among those with them.
#include "daemon/serve/tag_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tailor::serve {
namespace {

using Random = std::mt19937_64;

// Two queries, one a hundred times as expensive as the other; one of eight executions has no tags.
TagCosts executions(int count, double cost_of_tags, std::uint64_t seed, bool told = true) {
  Random random(seed);
  TagCosts costs;
  for (int i = 0; i < count; ++i) {
    store::ExecutionRow row;
    const bool heavy = random() % 3 == 0;
    const bool tags_off = random() % 8 == 0;
    row.plan_name = heavy ? "heavy" : "light";
    row.record.labels = {{"query", heavy ? "select heavy" : "select light"}};
    row.record.end = 1;
    row.record.tags_off = tags_off && told;
    const double cost = std::lognormal_distribution<double>(std::log(heavy ? 1e9 : 1e7), 0.2)(random);
    row.cost.cpu_ns = cost * (tags_off ? 1 : cost_of_tags);
    costs.add(row);
  }
  return costs;
}

bool holds(const query::Json& ratio, double value) {
  return ratio["low"].get<double>() <= value && value <= ratio["high"].get<double>();
}

// How often the interval of all queries, and of each, holds the truth.
double covered(double truth, bool told = true) {
  constexpr std::uint64_t kTrials = 200;
  int inside = 0, of = 0;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    const query::Json answer = executions(1000, truth, seed, told).json(10);
    if (answer["ratio"].is_null()) continue;
    inside += holds(answer["ratio"], truth);
    for (const query::Json& each : answer["queries"]) inside += holds(each["ratio"], truth);
    of += 1 + static_cast<int>(answer["queries"].size());
  }
  return of == 0 ? 0 : static_cast<double>(inside) / of;
}

TEST(TagCost, TheIntervalHoldsAsOftenAsItSays) {
  for (const double truth : {1.0, 1.05}) {
    EXPECT_GT(covered(truth), 0.92) << truth;
    EXPECT_LT(covered(truth), 0.98) << truth;
  }
}

// Ten executions without tags, as where one of a hundred has none. Twin: 1.96 standard errors are too few
// there.
TEST(TagCost, TheIntervalHoldsWithFewExecutionsToo) {
  constexpr int kTrials = 4000;
  Random random(3);
  std::normal_distribution<double> cost(1e7, 1e6);
  int inside = 0, inside_of_twin = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    CostSample with, without;
    for (int i = 0; i < 200; ++i) with.add(cost(random));
    for (int i = 0; i < 10; ++i) without.add(cost(random));
    const TagCost found = tag_cost(with, without);
    inside += found.low <= 1 && 1 <= found.high;
    const double error = std::sqrt(with.variance() / (with.mean() * with.mean()) +
                                   without.variance() / (without.mean() * without.mean()));
    inside_of_twin += std::abs(std::log(found.ratio)) <= 1.96 * error;
  }
  EXPECT_NEAR(inside, 0.95 * kTrials, 0.015 * kTrials);
  EXPECT_LT(inside_of_twin, 0.935 * kTrials);
}

TEST(TagCost, AnInjectedCostIsFound) {
  const query::Json answer = executions(20'000, 1.05, 5).json(10);
  EXPECT_GT(answer["ratio"]["low"].get<double>(), 1);
  EXPECT_TRUE(holds(answer["ratio"], 1.05)) << answer["ratio"];
  EXPECT_EQ(answer["queries"][0]["name"], "heavy") << "the most expensive first";
}

// Twin: where it is not told which executions have no tags, nothing can be known, and nothing is said.
TEST(TagCost, WithoutExecutionsWithoutTagsNothingIsSaid) {
  const query::Json answer = executions(20'000, 1.5, 5, false).json(10);
  EXPECT_TRUE(answer["ratio"].is_null());
  EXPECT_EQ(answer["executions_without_tags"], 0);
  EXPECT_EQ(covered(1.05, false), 0);
}

TEST(TagCost, FewExecutionsRunningOnesAndThoseThatAreNotSampledDoNotCount) {
  TagCosts costs;
  store::ExecutionRow row;
  row.cost.cpu_ns = 100;
  costs.add(row);  // it runs
  row.record.end = 1;
  row.record.drawn = false;
  costs.add(row);
  row.record.drawn = true;
  for (int i = 0; i < 100; ++i) {
    row.record.tags_off = i % 20 == 0;
    costs.add(row);
  }
  const query::Json answer = costs.json(10);
  EXPECT_EQ(answer["executions_not_counted"], 2);
  EXPECT_EQ(answer["executions_without_tags"], 5);
  EXPECT_TRUE(answer["ratio"].is_null()) << "five are too few";
  EXPECT_EQ(answer["queries"].size(), 1u) << "it is shown";
}

}  // namespace
}  // namespace tailor::serve
