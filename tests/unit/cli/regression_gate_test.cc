// The gate of `tailor diff --fail-if`: it finds growth, is seldom wrong, and says where it cannot judge.
#include "viewer/cli/regression_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/query/reports/growth.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Two sides with one sample of 1 ms for each count.
query::Comparison compared(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kWeight = 1e6;
  query::Comparison out;
  out.same_plan = true;
  const auto give = [](query::PlanReport& report, const std::vector<double>& counts) {
    for (const double count : counts) report.effective_samples += count;
    report.total.weight = report.effective_samples * kWeight;
    report.all.amount.weight = report.total.weight;
  };
  give(out.a, a);
  give(out.b, b);
  const auto side = [](double count, std::size_t number, double all) {
    query::ComparedSide made;
    made.row.name = "operator " + std::to_string(number);
    made.row.cost.amount.weight = count * kWeight;
    made.row.cost.interval = query::wilson(count / all, all);
    return made;
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    out.operators.push_back({query::Change::kMatched, side(a[i], i, out.a.effective_samples),
                             side(b[i], i, out.b.effective_samples)});
  return out;
}

Verdict judged(const char* condition, const query::Comparison& both, double a_parts = 1, double b_parts = 1) {
  return judge(*parse_condition(condition), both, a_parts, b_parts);
}

TEST(Gate, GrowthIsToldWhereItIsSure) {
  const auto both = compared({1000, 500}, {3000, 500});
  EXPECT_THAT(judged("total>100%", both).holds, HasSubstr("the total grew by 133.3 %"));
  EXPECT_THAT(judged("total>133%", both).holds, IsEmpty()) << "not surely by more than it did";
  EXPECT_THAT(judged("operator>150%", both).holds, HasSubstr("operator 0 grew by 200.0 %"));
  EXPECT_THAT(judged("total>0%", both, 1, 3).holds, IsEmpty()) << "three times the executions";
  EXPECT_THAT(judged("total>0%", both, 1, 3).unknown, IsEmpty());
  EXPECT_THAT(judged("plan", both).holds, IsEmpty());
}

TEST(Gate, EqualSidesPass) {
  const auto both = compared({1000, 500, 40}, {1000, 500, 40});
  for (const char* condition : {"total>0%", "operator>0%", "plan"}) {
    EXPECT_THAT(judged(condition, both).holds, IsEmpty()) << condition;
    EXPECT_THAT(judged(condition, both).unknown, IsEmpty()) << condition;
  }
}

// Twenty operators that did not grow, a thousand times.
TEST(Gate, ManyOperatorsAreWrongAsSeldomAsOne) {
  constexpr int kTries = 1000, kOperators = 20;
  std::mt19937_64 random(3);
  std::poisson_distribution<int> draw(200);
  int alarms = 0, without_correction = 0;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> a, b;
    bool one = false;
    for (int j = 0; j < kOperators; ++j) {
      a.push_back(draw(random));
      b.push_back(draw(random));
      one |= query::sure_ratio({a[j] * 1e6, a[j], 1, 1e6}, {b[j] * 1e6, b[j], 1, 1e6}, 0.95) > 1;
    }
    alarms += judged("operator>0%", compared(a, b)).holds.empty() ? 0 : 1;
    without_correction += one ? 1 : 0;
  }
  constexpr int kMost = 72;  // 99.9 % quantile of a binomial of 1000 with 5 %
  EXPECT_LE(alarms, kMost);
  EXPECT_GT(alarms, 0) << "the gate is not deaf";
  EXPECT_GT(without_correction, kMost) << "the broken twin: each operator tested with 95 %";
}

TEST(Gate, TooFewSamplesAreNoPass) {
  const Verdict total = judged("total>5%", compared({2, 2}, {600, 300}), 1, 1000);
  EXPECT_THAT(total.holds, IsEmpty());
  EXPECT_THAT(total.unknown, HasSubstr("the total has too few samples (4 and 900 effective ones"));
  const Verdict of_one = judged("operator>5%", compared({100, 4}, {100, 3}));
  EXPECT_THAT(of_one.holds, IsEmpty());
  EXPECT_THAT(of_one.unknown, HasSubstr("operator 1 has too few samples (4 and 3"));
}

TEST(Gate, GrowthThatFewSamplesShowIsTold) {
  EXPECT_THAT(judged("operator>5%", compared({1000, 3}, {1000, 300})).holds, HasSubstr("operator 1 grew"));
  EXPECT_THAT(judged("operator>5%", compared({1000, 0}, {1000, 300})).holds,
              HasSubstr("operator 1 grew from nothing, by more than"));
}

TEST(Gate, OperatorsThatSurelyMatterLittleAreNoReasonForDoubt) {
  EXPECT_THAT(judged("operator>5%", compared({10'000, 4}, {10'000, 3})).unknown, IsEmpty());
  EXPECT_THAT(judged("operator>5%", compared({300, 0}, {10'000, 3}), 1, 40).unknown, HasSubstr("operator 1"))
      << "0 of 300 may be more than 1 %";
}

TEST(Gate, PlansWithoutACommonOperatorCannotBeJudgedByOperators) {
  query::Comparison both = compared({1000}, {3000});
  both.operators.front().a.reset();
  both.same_plan = false;
  EXPECT_THAT(judged("operator>5%", both).unknown, HasSubstr("no operator in common"));
  EXPECT_EQ(judged("plan", both).holds, "the plans differ");
}

TEST(Gate, ConditionsThatAreNone) {
  for (const char* text :
       {"", "total", "total>", "total>5", "total>-1%", "total>x%", "total>nan%", "totals>5%"}) {
    const auto condition = parse_condition(text);
    ASSERT_FALSE(condition) << text;
    EXPECT_THAT(condition.error().message, HasSubstr("there are total>N%, operator>N% and plan"));
  }
}

// Sums of an older version say neither how sure they are nor of which plan.
TEST(Gate, WhatOlderSumsDoNotSayIsNotJudged) {
  query::Comparison both = compared({100, 100}, {1000, 1000});
  EXPECT_FALSE(judged("total>5%", both).holds.empty());
  both.intervals_known = both.plans_known = both.details_known = false;
  for (const char* condition : {"total>5%", "operator>5%", "plan"}) {
    EXPECT_THAT(judged(condition, both).holds, IsEmpty()) << condition;
    EXPECT_THAT(judged(condition, both).unknown, HasSubstr("the samples are gone")) << condition;
  }
}

TEST(Gate, CostsOfRunsOfUnknownNumberAreNotJudged) {
  query::Comparison both = compared({100, 100}, {1000, 1000});
  both.runs_known = false;
  EXPECT_THAT(judged("total>5%", both).holds, IsEmpty());
  EXPECT_THAT(judged("total>5%", both).unknown, HasSubstr("it is not known how many"));
  EXPECT_THAT(judged("plan", both).unknown, IsEmpty());
}

// How much the executions differ that were not drawn is in no sum.
TEST(Gate, SumsOfAShareOfTheExecutionsAreNotJudged) {
  query::Comparison both = compared({100, 100}, {1000, 1000});
  both.intervals_known = false;
  for (const char* condition : {"total>5%", "operator>5%"}) {
    EXPECT_THAT(judged(condition, both).holds, IsEmpty()) << condition;
    EXPECT_THAT(judged(condition, both).unknown, HasSubstr("a share of these was sampled")) << condition;
  }
  EXPECT_THAT(judged("plan", both).unknown, IsEmpty());
}

}  // namespace
}  // namespace tailor::cli
