// What tags cost, from executions with and without: an injected cost is found, none is not. The twin counts
// executions without tags among those with them.
#include "daemon/serve/tag_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "daemon/profile/added_runs.h"

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

// Sums of 50 to 150 runs each. What the runs of a session have in common is as large as their own
// differences.
TagCosts sums_of_runs(std::uint64_t seed, double cost_of_tags) {
  Random random(seed);
  std::lognormal_distribution<double> of_session(0, 0.2);
  TagCosts costs;
  for (int i = 0; i < 300; ++i) {
    store::ExecutionRow row;
    row.record.end = 1;
    row.record.tags_off = random() % 4 == 0;
    profile::AddedRuns runs;
    runs.runs = 50 + random() % 101;
    row.record.added = std::make_shared<const profile::AddedRuns>(runs);
    row.record.labels = {{std::string(profile::kRunsLabel), std::string(profile::kRunsLabelValue)}};
    row.cost.cpu_ns = static_cast<double>(runs.runs) * 1e5 * of_session(random);
    if (!row.record.tags_off) row.cost.cpu_ns *= cost_of_tags;
    costs.add(row);
  }
  return costs;
}

TEST(TagCost, RunsThatWereAddedUpAreGroups) {
  constexpr int kTrials = 400;
  int inside = 0;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    const query::Json answer = sums_of_runs(seed, 1.1).json(10);
    ASSERT_FALSE(answer["ratio"].is_null());
    inside += holds(answer["ratio"], 1.1) ? 1 : 0;
    EXPECT_GT(answer["with"]["executions"].get<double>(), 300 * 0.5 * 50) << "each run counts";
  }
  EXPECT_GT(inside, 0.90 * kTrials);
  EXPECT_LT(inside, 0.995 * kTrials);
}

// Twin: as if each run had been drawn for itself, the interval is far too narrow.
TEST(TagCost, ThatRunsAreDrawnTogetherMatters) {
  constexpr int kTrials = 200;
  Random random(9);
  std::lognormal_distribution<double> of_session(0, 0.2);
  int inside = 0, inside_of_twin = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    CostSample sides[2], twins[2];
    for (int i = 0; i < 60; ++i) {
      const double each = 1e5 * of_session(random);
      sides[i % 2].add(100 * each, 100);
      for (int run = 0; run < 100; ++run) twins[i % 2].add(each);
    }
    const TagCost found = tag_cost(sides[0], sides[1]), twin = tag_cost(twins[0], twins[1]);
    ASSERT_TRUE(found.is_known && twin.is_known);
    EXPECT_NEAR(found.ratio, twin.ratio, 1e-9);
    inside += found.low <= 1 && 1 <= found.high ? 1 : 0;
    inside_of_twin += twin.low <= 1 && 1 <= twin.high ? 1 : 0;
  }
  EXPECT_GT(inside, 0.88 * kTrials);
  EXPECT_LT(inside_of_twin, 0.5 * kTrials);
}

// Short executions of which one of five has a sample. A store may keep one row for those that have none, but
// for those without tags.
TagCosts short_executions(std::uint64_t seed, double cost_of_tags, bool sums) {
  Random random(seed);
  TagCosts costs;
  store::ExecutionRow sum;
  profile::AddedRuns unsampled;
  for (int i = 0; i < 10'000; ++i) {
    store::ExecutionRow row;
    row.record.end = 1;
    row.record.tags_off = random() % 4 == 0;
    const double chance = row.record.tags_off ? 0.2 : 0.2 * cost_of_tags;
    const bool is_sampled = std::bernoulli_distribution(chance)(random);
    row.cost = {is_sampled ? 1u : 0u, is_sampled ? 1e6 : 0.0};
    if (sums && !is_sampled && !row.record.tags_off) {
      ++unsampled.runs;
    } else {
      costs.add(row);
    }
  }
  if (!sums) return costs;
  sum.record.end = 1;
  sum.record.added = std::make_shared<const profile::AddedRuns>(unsampled);
  costs.add(sum);
  return costs;
}

TEST(TagCost, ThatAStoreAddsUpExecutionsWithoutASampleChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const query::Json each = short_executions(seed, 1.3, false).json(10);
    const query::Json sums = short_executions(seed, 1.3, true).json(10);
    ASSERT_FALSE(sums["ratio"].is_null()) << seed;
    EXPECT_EQ(sums["with"]["executions"], each["with"]["executions"]);
    for (const char* key : {"value", "low", "high"})
      EXPECT_NEAR(sums["ratio"][key].get<double>(), each["ratio"][key].get<double>(), 1e-6) << key;
  }
}

TEST(TagCost, RunsWhoseNumberIsNotKnownDoNotCount) {
  TagCosts costs;
  store::ExecutionRow row;
  row.record.end = 1;
  row.record.labels = {{std::string(profile::kRunsLabel), std::string(profile::kRunsLabelValue)}};
  costs.add(row);
  row.record.added = std::make_shared<const profile::AddedRuns>();  // no run ended
  costs.add(row);
  const query::Json answer = costs.json(10);
  EXPECT_EQ(answer["executions_not_counted"], 2);
  EXPECT_EQ(answer["queries"].size(), 0u);
}

}  // namespace
}  // namespace tailor::serve
