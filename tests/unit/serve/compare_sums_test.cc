// Sums of two times of a query, operator by operator.
#include "daemon/serve/compare_sums.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/query/reports/growth.h"
#include "daemon/serve/views.h"

namespace tailor::serve {
namespace {

constexpr const char* kQuery = "9c1e";

struct SummedOp {
  std::uint32_t id;
  std::string name;
  std::uint64_t samples;
  std::optional<std::uint64_t> plan = 7;
};

// Samples of a millisecond each, of ten executions.
store::Summary summed(const std::vector<SummedOp>& operators) {
  store::Summary summary;
  summary.first = summary.last = 1;
  store::CostKey key;
  key.fingerprint = kQuery;
  key.source = "cpu-clock";
  const auto give = [&](std::uint64_t samples) {
    profile::Sum sum;
    sum.samples = samples;
    sum.weight = samples * 1'000'000;
    sum.weight_squares = static_cast<store::Wide>(sum.weight) * 1'000'000;
    summary.costs[key].add(sum, store::kParts, false, false);
  };
  for (const SummedOp& op : operators) {
    key.what = store::CostOf::kOperator;
    key.id = op.id;
    key.name = op.name;
    key.kind = "filter";
    key.plan = op.plan;
    give(op.samples);
  }
  key = {};
  key.fingerprint = kQuery;
  key.source = "cpu-clock";
  key.what = store::CostOf::kUnattributed;
  key.name = "unknown_kernel";
  key.plan = 0;
  give(10);
  summary.runs[{0, {}, kQuery}] = {10, 0, 50, 5, 5};
  summary.queries[{{}, kQuery}] = {"tpch-3", "select ?"};
  return summary;
}

const query::ComparedOperator* operator_named(const query::Comparison& both, const std::string& name) {
  for (const query::ComparedOperator& row : both.operators) {
    if ((row.a ? row.a->row.name : row.b->row.name) == name) return &row;
  }
  return nullptr;
}

TEST(CompareSums, OperatorsOfOnePlanMatchByTheirNumber) {
  const store::Summary a = summed({{1, "x > 5", 100}, {2, "scan", 400}});
  const store::Summary b = summed({{1, "x > 7", 300}, {3, "rare", 20}});
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_TRUE(both->same_plan);
  EXPECT_TRUE(both->plans_known);
  EXPECT_TRUE(both->intervals_known);
  EXPECT_EQ(both->executions_a, 10u);
  EXPECT_EQ(both->a.total.samples, 510u);
  EXPECT_DOUBLE_EQ(both->a.effective_samples, 510);
  EXPECT_EQ(both->a.plans.front().name, "tpch-3");
  ASSERT_EQ(both->operators.size(), 3u);
  EXPECT_EQ(both->operators[0].a->row.name, "scan") << "the most expensive one";
  const auto* filter = operator_named(*both, "x > 5");
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(filter->change, query::Change::kMatched);
  EXPECT_EQ(filter->b->row.cost.amount.weight, 3e8);
  const auto grown = query::growth(query::sampled_cost(both->a, filter->a->row.cost.amount, 10),
                                   query::sampled_cost(both->b, filter->b->row.cost.amount, 10));
  ASSERT_TRUE(grown);
  EXPECT_DOUBLE_EQ(grown->ratio, 3);
  EXPECT_TRUE(grown->grew());
  const auto* rare = operator_named(*both, "rare");
  ASSERT_NE(rare, nullptr);
  ASSERT_TRUE(rare->a) << "it is in the plan, without samples";
  EXPECT_EQ(rare->a->row.cost.amount.weight, 0);
  // All of it is in one of the rows.
  double weight = 0;
  for (const query::ComparedOperator& row : both->operators) weight += row.a->row.cost.amount.weight;
  for (const query::ComparedRest& row : both->rest) weight += row.a.amount.weight;
  EXPECT_DOUBLE_EQ(weight, both->a.all.amount.weight);
}

// Costs are divided by executions: those without a sample because of a share may not count.
TEST(CompareSums, OfAShareThatIsSampledTheShareCounts) {
  const store::Summary a = summed({{1, "scan", 100}});
  store::Summary b = summed({{1, "scan", 100}});
  b.runs.begin()->second.executions = 80;
  b.runs.begin()->second.not_drawn = 70;
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->executions_a, 10u);
  EXPECT_EQ(both->executions_b, 10u);
}

// Samples of one execution are alike: as if each counted, the intervals would be too narrow.
TEST(CompareSums, OfAShareThatIsSampledNoIntervalIsKnown) {
  const store::Summary a = summed({{1, "scan", 1000}});
  store::Summary b = summed({{1, "scan", 100}});
  EXPECT_TRUE(sums_comparison_json(*compare_sums({a, kQuery}, {b, kQuery}, ""))["growth"].is_object());
  b.runs.begin()->second.executions = 80;
  b.runs.begin()->second.not_drawn = 70;
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->intervals_known);
  EXPECT_TRUE(both->details_known);
  EXPECT_EQ(both->b.effective_samples, 0);
  const Json json = sums_comparison_json(*both);
  EXPECT_TRUE(json["growth"].is_null());
  EXPECT_EQ(json["same_plan"], true);
  for (const char* rows : {"operators", "rest"}) {
    for (const Json& row : json[rows]) {
      EXPECT_TRUE(row["growth"].is_null());
      EXPECT_TRUE(row["significant"].is_null());
      EXPECT_TRUE(row["b"]["share_low"].is_null() && row["b"]["share_high"].is_null());
      EXPECT_TRUE(row["b"]["weight"].is_number() && row["b"]["kernel_weight"].is_number());
    }
  }
}

// One of ten executions may stand for any number of runs.
TEST(CompareSums, OfRunsOfUnknownNumberTheCostOfOneIsNotKnown) {
  const store::Summary a = summed({{1, "scan", 1000}});
  store::Summary b = summed({{1, "scan", 1000}});
  b.runs.begin()->second.untimed = 1;
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->runs_known);
  const Json json = sums_comparison_json(*both);
  EXPECT_EQ(json["runs_unknown"], true);
  EXPECT_TRUE(json["growth"].is_null());
  EXPECT_EQ(json["operators"][0]["significant"], false) << "shares are known all the same";
  EXPECT_FALSE(sums_comparison_json(*compare_sums({a, kQuery}, {a, kQuery}, "")).contains("runs_unknown"));
}

TEST(CompareSums, OperatorsOfOtherPlansMatchByTheirName) {
  const store::Summary a = summed({{1, "scan", 100}, {2, "sort", 50}});
  const store::Summary b = summed({{4, "scan", 100, 8}, {5, "hash", 50, 8}});
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "cpu-clock");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->same_plan);
  EXPECT_EQ(operator_named(*both, "scan")->change, query::Change::kMatched);
  EXPECT_EQ(operator_named(*both, "sort")->change, query::Change::kGone);
  EXPECT_EQ(operator_named(*both, "hash")->change, query::Change::kNew);
  const Json json = sums_comparison_json(*both);
  EXPECT_EQ(json["sums"], true);
  EXPECT_EQ(json["same_plan"], false);
  const Json& scan = json["operators"][0]["a"];
  EXPECT_TRUE(scan["key"].is_null());
  EXPECT_TRUE(scan["id"].is_null()) << "it has another number on each side";
  EXPECT_TRUE(scan["shared_weight"].is_null()) << "sums do not know it";
  EXPECT_TRUE(scan["kernel_weight"].is_number() && scan["share_low"].is_number());
  EXPECT_TRUE(json["rest"][0]["significant"].is_boolean());
}

// Whose plan has no sample may have had the same.
TEST(CompareSums, APlanWithoutSamplesIsNotKnown) {
  const store::Summary a = summed({{1, "scan", 100}}), b = summed({});
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->plans_known);
  EXPECT_TRUE(both->intervals_known);
}

TEST(CompareSums, WhatOlderSumsDoNotSayIsNotKnown) {
  const store::Summary a = summed({{1, "scan", 100}});
  store::Summary b = summed({{1, "scan", 100, std::nullopt}});
  for (auto& [key, sum] : b.costs) sum.undetailed = sum.weight;
  const auto both = compare_sums({a, kQuery}, {b, kQuery}, "");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->plans_known);
  EXPECT_FALSE(both->same_plan);
  EXPECT_FALSE(both->intervals_known);
  EXPECT_FALSE(both->details_known);
  EXPECT_EQ(both->b.effective_samples, 0);
  const Json json = sums_comparison_json(*both);
  EXPECT_TRUE(json["same_plan"].is_null());
  for (const char* rows : {"operators", "rest"}) {
    for (const Json& row : json[rows]) {
      EXPECT_TRUE(row["significant"].is_null());
      for (const char* key : {"share_low", "share_high", "kernel_weight", "inferred_weight"})
        EXPECT_TRUE(row["b"][key].is_null()) << key;
      EXPECT_TRUE(row["b"]["weight"].is_number());
    }
  }
}

TEST(CompareSums, NothingIsSaidWhereThereIsNothing) {
  const store::Summary a = summed({{1, "scan", 100}});
  EXPECT_EQ(compare_sums({a, kQuery}, {a, "beef"}, "").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(compare_sums({a, kQuery}, {a, kQuery}, "cycles").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tailor::serve
