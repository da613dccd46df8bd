// Where a part of the executions is sampled, the 95 % intervals of shares hold what all executions cost as
// often as they say. The twin that takes samples of one execution as independent must fail.
#include "daemon/query/sums/execution_spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "daemon/query/sums/interval.h"

namespace tailor::query {
namespace {

constexpr std::size_t kSpreadRows = 3, kSpreadExecutions = 400;
constexpr int kSpreadTrials = 300;

using SpreadRandom = std::mt19937_64;
using SpreadCosts = std::array<double, kSpreadRows>;  // of one execution, in samples

// `alike`: how much executions of the query have in common; small numbers: some spend all their time in one
// row. Their costs differ by a factor of some ten.
SpreadCosts costs_of(double alike, SpreadRandom& random) {
  std::lognormal_distribution<double> cost(std::log(20), 0.8);
  SpreadCosts out{};
  double sum = 0;
  for (const auto& [row, share] : {std::pair<std::size_t, double>{0, 0.3}, {1, 0.55}, {2, 0.15}}) {
    out[row] = std::gamma_distribution<double>(alike * share)(random);
    sum += out[row];
  }
  const double all = cost(random);
  for (double& each : out) each = sum > 0 ? all * each / sum : all / kSpreadRows;
  return out;
}

struct SampledShares {
  WholeSpread whole;
  std::array<RowSpread, kSpreadRows> rows;
  double samples = 0;

  void add(const SpreadCosts& counts) {
    double all = 0;
    for (const double count : counts) all += count;
    if (all == 0) return;
    ++whole.sampled;
    whole.weight += all;
    whole.squares += all * all;
    samples += all;
    for (std::size_t i = 0; i < kSpreadRows; ++i)
      rows[i].add({counts[i], counts[i] * counts[i], counts[i] * all});
  }
  Interval interval(std::size_t row, bool by_sample) const {
    const double average = effective_samples(whole, samples, samples, rows);
    const double of_row = effective_samples(whole, samples, samples, rows[row], average);
    return wilson(rows[row].weight / samples, by_sample ? samples : of_row);
  }
};

// For each row, the share of the intervals that hold what all executions cost.
std::array<double, kSpreadRows> spread_held(double alike, bool by_sample) {
  SpreadRandom random(17);
  std::array<double, kSpreadRows> out{};
  for (int trial = 0; trial < kSpreadTrials; ++trial) {
    SampledShares sampled;
    SpreadCosts truth{};
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < kSpreadExecutions; ++i) {
      const SpreadCosts one = costs_of(alike, random);
      for (std::size_t row = 0; row < kSpreadRows; ++row) truth[row] += one[row];
      if (random() % 4 != 0) continue;
      ++drawn;
      SpreadCosts counts{};
      for (std::size_t row = 0; row < kSpreadRows; ++row)
        counts[row] = one[row] > 0 ? std::poisson_distribution<int>(one[row])(random) : 0;
      sampled.add(counts);
    }
    sampled.whole.drawn = static_cast<double>(drawn) / kSpreadExecutions;
    const double all = truth[0] + truth[1] + truth[2];
    for (std::size_t row = 0; row < kSpreadRows; ++row) {
      const Interval interval = sampled.interval(row, by_sample);
      const double share = truth[row] / all;
      if (interval.low <= share && share <= interval.high) out[row] += 1.0 / kSpreadTrials;
    }
  }
  return out;
}

// 95 %, less five standard errors of a share of the trials, and three in a hundred for the linear
// approximation of a ratio of skewed costs.
bool spreads_hold(std::span<const double> shares) {
  const double least = 0.95 - 5 * std::sqrt(0.95 * 0.05 / kSpreadTrials) - 0.03;
  return std::ranges::all_of(shares, [&](double share) { return share >= least; });
}

TEST(ExecutionSpread, IntervalsHoldWhatAllExecutionsCost) {
  for (const double alike : {0.5, 3.0, 30.0, 1e4}) {
    const auto shares = spread_held(alike, false);
    EXPECT_TRUE(spreads_hold(shares)) << alike << ": " << shares[0] << ", " << shares[1] << ", " << shares[2];
  }
}

// The twin: intervals by samples alone.
TEST(ExecutionSpread, IntervalsBySamplesAloneDoNot) {
  for (const double alike : {0.5, 3.0}) EXPECT_FALSE(spreads_hold(spread_held(alike, true))) << alike;
}

// Where executions are alike, intervals are not much wider than by samples.
TEST(ExecutionSpread, OfExecutionsThatAreAlikeSamplesCount) {
  SampledShares sampled;
  SpreadRandom random(3);
  for (std::size_t i = 0; i < kSpreadExecutions / 4; ++i) {
    SpreadCosts counts{};
    for (const auto& [row, mean] : {std::pair<std::size_t, double>{0, 30}, {1, 60}, {2, 10}})
      counts[row] = std::poisson_distribution<int>(mean)(random);
    sampled.add(counts);
  }
  sampled.whole.drawn = 0.25;
  const double average = effective_samples(sampled.whole, sampled.samples, sampled.samples, sampled.rows);
  EXPECT_GT(average, 0.6 * sampled.samples);
  EXPECT_LE(average, sampled.samples);
}

TEST(ExecutionSpread, WhereAllAreDrawnSamplesAloneCount) {
  SampledShares sampled;
  sampled.add({10, 0, 0});
  sampled.add({0, 10, 0});
  EXPECT_EQ(effective_samples(sampled.whole, 20, 20, sampled.rows), 20);
  EXPECT_EQ(effective_samples(sampled.whole, 20, 20, sampled.rows[0], 1), 20);
  sampled.whole.drawn = 0.5;
  EXPECT_LT(effective_samples(sampled.whole, 20, 20, sampled.rows), 2);
}

TEST(ExecutionSpread, OneExecutionSaysNothing) {
  SampledShares sampled;
  sampled.whole.drawn = 0.5;
  EXPECT_EQ(effective_samples(sampled.whole, 20, 20, sampled.rows), 20) << "all is outside of executions";
  sampled.add({15, 5, 0});
  const double average = effective_samples(sampled.whole, 20, 20, sampled.rows);
  EXPECT_EQ(average, 0);
  EXPECT_EQ(effective_samples(sampled.whole, 20, 20, sampled.rows[0], average), 0);
}

// Two executions of one row alike: nothing of the rows tells how much executions differ.
TEST(ExecutionSpread, OfOneRowExecutionsCount) {
  SampledShares sampled;
  for (int i = 0; i < 10; ++i) sampled.add({1000, 0, 0});
  sampled.whole.drawn = 0.1;
  EXPECT_NEAR(effective_samples(sampled.whole, 1e4, 1e4, sampled.rows), 1 / (0.9 / 10 + 0.1 / 1e4), 1e-6);
}

// No sample of the row was seen: by chance, where few executions were sampled.
TEST(ExecutionSpread, ARowOfFewSamplesIsKnownNoBetterThanOthers) {
  SampledShares sampled;
  for (int i = 0; i < 20; ++i) sampled.add({i % 2 == 0 ? 100.0 : 0.0, i % 2 == 0 ? 0.0 : 100.0, 0});
  sampled.whole.drawn = 0.1;
  const double average = effective_samples(sampled.whole, 2000, 2000, sampled.rows);
  EXPECT_LT(average, 30);
  EXPECT_EQ(effective_samples(sampled.whole, 2000, 2000, sampled.rows[2], average), average);
}

}  // namespace
}  // namespace tailor::query
