// Where a share of the executions is sampled, each row of a memory report follows from how much executions
// differ in it. Here they differ by the memory alone, and the average over operators says nothing of that.
#include "daemon/query/reports/memory_spreads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/region_report.h"
#include "daemon/query/reports/row_spreads.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr std::uint32_t kUsedRegion = 5;
constexpr int kMemoryExecutions = 100, kMemoryTrials = 200;
constexpr double kMeanAccesses = 12;
using MemoryRandom = std::mt19937_64;

// Every second one of the executions is drawn. Each has its accesses in the region, or all in other memory.
// Its accesses are of operator 1 and operator 4 in turn.
struct MemoryTrial {
  Profile profile;
  double truth = 0;  // share of the region in what all executions cost
};

MemoryTrial memory_trial(MemoryRandom& random) {
  int in_region = 0;
  Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    std::vector<profile::SampleRecord> samples;
    for (int i = 0; i < kMemoryExecutions; ++i) {
      profile::ExecutionRecord execution;
      execution.process = test::kSampleProcess;
      execution.handle = static_cast<ExecutionHandle>(100 + i);
      execution.id.bytes.fill(static_cast<std::uint8_t>(100 + i));
      execution.plan = test::kSamplePlan;
      execution.begin = test::kSampleStart;
      execution.end = execution.begin + 1000;
      execution.drawn = i % 2 == 0;
      sink.on_execution(execution);
      const bool used = random() % 2 == 0;
      if (used) ++in_region;
      const int accesses = execution.drawn ? std::poisson_distribution<int>(kMeanAccesses)(random) : 0;
      for (int access = 0; access < accesses; ++access) {
        profile::SampleRecord& sample = samples.emplace_back(
            test::ir_sample(test::kSampleStart + static_cast<TimeNs>(access), access % 2 == 0 ? 6 : 1));
        sample.address_from = profile::AddressFrom::kOperand;
        sample.region = used ? kUsedRegion : 0;
        sample.attribution.execution = execution.handle;
      }
    }
    sink.on_samples(samples);
  });
  return {std::move(profile), static_cast<double>(in_region) / kMemoryExecutions};
}

bool in_interval(const Interval& interval, double share) {
  return interval.low <= share && share <= interval.high;
}

// Of all trials, those whose intervals hold the truth.
struct MemoryHeld {
  double region = 0, rows = 0;  // rows: of both operators in the region
  double of_average = 0;        // the twin: of the region, from the average over operators
};

MemoryHeld memory_held() {
  MemoryRandom random(11);
  MemoryHeld out;
  for (int trial = 0; trial < kMemoryTrials; ++trial) {
    const MemoryTrial made = memory_trial(random);
    const auto report = memory_report(made.profile, {});
    EXPECT_TRUE(report);
    if (!report) return out;
    for (const RegionRow& row : region_rows(made.profile, *report, {})) {
      if (row.kind != kUsedRegion) continue;
      if (in_interval(row.cost.interval, made.truth)) out.region += 1.0 / kMemoryTrials;
      const double worth = sample_worth(made.profile, {}, report->source.index);
      const Interval average = wilson(row.cost.share, worth * static_cast<double>(report->total.samples));
      if (in_interval(average, made.truth)) out.of_average += 1.0 / kMemoryTrials;
    }
    for (const MemoryRow& row : report->rows) {
      // Operators share the accesses of an execution evenly, but for one access in every second execution.
      const double odd = row.operator_id == 1 ? 0.25 : -0.25;
      const double part = 0.5 + odd / kMeanAccesses;
      if (row.region == kUsedRegion && in_interval(row.cost.interval, made.truth * part))
        out.rows += 0.5 / kMemoryTrials;
    }
  }
  return out;
}

// 95 %, less five standard errors of a share of the trials, and three in a hundred for the linear
// approximation of a ratio.
bool memory_holds(double share) {
  return share >= 0.95 - 5 * std::sqrt(0.95 * 0.05 / kMemoryTrials) - 0.03;
}

TEST(MemorySpreads, IntervalsOfRowsAndRegionsHoldWhatAllExecutionsAccessed) {
  const MemoryHeld held = memory_held();
  EXPECT_TRUE(memory_holds(held.region)) << held.region;
  EXPECT_TRUE(memory_holds(held.rows)) << held.rows;
  // The broken twin: operators do not differ, so their average takes accesses of one execution as
  // independent.
  EXPECT_FALSE(memory_holds(held.of_average)) << held.of_average;
}

// A kind of memory has one spread: executions differ in the sum of its rows, and rows are not independent.
TEST(MemorySpreads, OfAKindIsNotTheSumOfItsRows) {
  MemoryRandom random(3);
  const MemoryTrial made = memory_trial(random);
  const auto totals = totals_by_source(made.profile, {});
  ASSERT_EQ(totals.size(), 1u);
  const MemorySpreads spreads =
      memory_spreads(made.profile, {}, totals.begin()->first, totals.begin()->second);
  EXPECT_DOUBLE_EQ(spreads.everything.drawn, 51.0 / 101) << "with that of the context";
  ASSERT_EQ(spreads.kinds.size(), 2u);
  ASSERT_EQ(spreads.rows.size(), 4u);
  double weight = 0, squares = 0, products = 0;
  for (const auto& [key, row] : spreads.rows) {
    if (std::get<4>(key) != kUsedRegion) continue;
    weight += row.weight;
    squares += row.squares;
    products += row.products;
  }
  const RowSpread& kind = spreads.kinds.at({test::kSampleProcess, kUsedRegion});
  EXPECT_NEAR(kind.weight, weight, 1e-6 * weight);
  EXPECT_NEAR(kind.products, products, 1e-6 * products);
  EXPECT_GT(kind.squares, 1.8 * squares) << "two equal rows: 4 times the square of one, and not 2 times";
  EXPECT_NEAR(kind.squares, kind.products, 1e-6 * kind.products) << "an execution has all in one kind";
}

}  // namespace
}  // namespace tailor::query
