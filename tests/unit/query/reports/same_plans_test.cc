// Plans that an engine registered several times, as one.
#include "daemon/query/reports/same_plans.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

Amount amount_of(double samples) {
  return {samples, samples * 10, 0, 0, 0};
}

OperatorRow operator_row(const std::string& name, double samples, const std::string& rows) {
  OperatorRow row;
  row.name = name;
  row.attributes = {{"table", "orders"}, {"actual_rows", rows}};
  row.cost.amount = amount_of(samples);
  return row;
}

// A plan of a scan below a join.
PlanPart joined(PlanId plan, double join, double scan, const std::string& rows) {
  PlanPart part;
  part.plan = plan;
  part.executions = 1;
  part.executions_without_sample = 2;
  part.operators = {operator_row("join", join, "5"), operator_row("scan", scan, rows)};
  part.operators[1].depth = 1;
  const double samples = join + scan;
  part.cost.amount = amount_of(samples);
  part.own = {static_cast<std::uint64_t>(samples), samples * 10, samples * 100};
  PipelineRow pipeline;
  pipeline.id = 1;
  pipeline.cost.amount = part.cost.amount;
  pipeline.tasks.emplace_back().name = "probe";
  pipeline.tasks.back().id = 3;
  pipeline.tasks.back().cost.amount = amount_of(join);
  part.pipelines = {pipeline};
  NamedRow compiling;
  compiling.key = compiling.name = "compile";
  compiling.cost.amount = amount_of(2);
  part.engine_rows = {compiling};
  return part;
}

PlanReport report_with(std::vector<PlanPart> plans) {
  PlanReport report;
  report.plans = std::move(plans);
  double samples = 0;
  for (const PlanPart& part : report.plans) samples += part.cost.amount.samples + 2;
  report.total = {static_cast<std::uint64_t>(samples), samples * 10, samples * 100};
  return report;
}

TEST(SamePlans, SkewsAreOfAllTheirExecutions) {
  PlanReport report = report_with({joined(1, 6, 4, "100"), joined(2, 3, 7, "100")});
  report.plans[0].operators[0].cost.skew = Skew{30, 10, 20};
  report.plans[1].operators[0].cost.skew = Skew{10, 10, 5};
  report.plans[1].pipelines[0].cost.skew = Skew{6, 2, 1};
  unite_plans(report);
  ASSERT_EQ(report.plans.size(), 1u);
  const PlanPart& sum = report.plans.front();
  ASSERT_TRUE(sum.operators[0].cost.skew);
  EXPECT_DOUBLE_EQ(sum.operators[0].cost.skew->value(), 2);
  EXPECT_DOUBLE_EQ(sum.operators[0].cost.skew->low(), 1.25);
  EXPECT_FALSE(sum.operators[1].cost.skew);
  ASSERT_TRUE(sum.pipelines[0].cost.skew);
  EXPECT_DOUBLE_EQ(sum.pipelines[0].cost.skew->value(), 3);
}

TEST(SamePlans, AreOne) {
  PlanReport report = report_with({joined(1, 6, 4, "100"), joined(2, 3, 7, "200"), joined(3, 0, 20, "100")});
  unite_plans(report);
  ASSERT_EQ(report.plans.size(), 1u);
  const PlanPart& sum = report.plans.front();
  EXPECT_EQ(sum.plan, 1u);
  EXPECT_EQ(sum.executions, 3u);
  EXPECT_EQ(sum.executions_without_sample, std::nullopt) << "there may be a fourth plan without any sample";
  EXPECT_EQ(sum.own.samples, 40u);
  EXPECT_DOUBLE_EQ(sum.operators[0].cost.amount.samples, 9);
  EXPECT_DOUBLE_EQ(sum.operators[1].cost.share, 31.0 / 40);
  EXPECT_LT(sum.operators[1].cost.interval.low, 31.0 / 40);
  EXPECT_DOUBLE_EQ(sum.cost.share, 40.0 / 46);
  ASSERT_EQ(sum.engine_rows.size(), 1u);
  EXPECT_DOUBLE_EQ(sum.engine_rows[0].cost.amount.samples, 6);
  EXPECT_DOUBLE_EQ(sum.engine_rows[0].cost.share, 6.0 / 46);
  ASSERT_EQ(sum.pipelines.size(), 1u);
  ASSERT_EQ(sum.pipelines[0].tasks.size(), 1u);
  EXPECT_DOUBLE_EQ(sum.pipelines[0].tasks[0].cost.amount.samples, 9);
  EXPECT_DOUBLE_EQ(sum.pipelines[0].cost.share, 1);
}

// What one run counted is not said of all of them.
TEST(SamePlans, FiguresStayWhereAllSayTheSame) {
  PlanReport report = report_with({joined(1, 6, 4, "100"), joined(2, 3, 7, "200")});
  unite_plans(report);
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(report.plans[0].operators[0].attributes, (Attributes{{"table", "orders"}, {"actual_rows", "5"}}));
  EXPECT_EQ(report.plans[0].operators[1].attributes, (Attributes{{"table", "orders"}}));
}

TEST(SamePlans, OtherTreesStayApartTheMostExpensiveFirst) {
  PlanPart other = joined(9, 1, 29, "100");
  other.operators[1].name = "index scan";
  PlanReport report = report_with({joined(1, 6, 14, "100"), other, joined(2, 3, 17, "200")});
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  MainPlans main(profile, report);
  EXPECT_TRUE(main.contains({{}, 1}));
  EXPECT_TRUE(main.contains({{}, 2}));
  EXPECT_FALSE(main.contains({{}, 9}));
  EXPECT_FALSE(main.contains({{}, 10})) << "it is not known";
  unite_plans(report);
  ASSERT_EQ(report.plans.size(), 2u);
  EXPECT_DOUBLE_EQ(report.plans[0].cost.amount.samples, 40);
  EXPECT_EQ(report.plans[1].plan, 9u);
  EXPECT_DOUBLE_EQ(report.plans[1].operators[1].cost.share, 29.0 / 30);
}

TEST(SamePlans, NothingStaysNothing) {
  PlanReport report;
  unite_plans(report);
  EXPECT_TRUE(report.plans.empty());
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  EXPECT_FALSE(MainPlans(profile, report).contains({test::kSampleProcess, test::kSamplePlan}));
}

// An engine that registers a plan for each execution has many without a sample.
TEST(SamePlans, APlanWithoutSamplesBelongsToItsTree) {
  v1::Plan again = test::sample_plan(), other = test::sample_plan();
  again.set_id(8);
  auto& counted = *again.mutable_levels(0)->mutable_components(0)->add_attributes();
  counted.set_key("actual_rows");
  counted.set_number(7);
  other.set_id(9);
  other.mutable_levels(0)->mutable_components(0)->set_kind("sort");
  const Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    sink.on_plan(test::kSampleProcess, test::kSampleStart, again);
    sink.on_plan(test::kSampleProcess, test::kSampleStart, other);
  });
  const auto report = plan_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->plans.size(), 1u);
  MainPlans main(profile, *report);
  EXPECT_TRUE(main.contains({test::kSampleProcess, test::kSamplePlan}));
  EXPECT_TRUE(main.contains({test::kSampleProcess, 8}));
  EXPECT_FALSE(main.contains({test::kSampleProcess, 9})) << "another tree";
  EXPECT_FALSE(main.contains({test::kSampleProcess, 10})) << "no plan";
}

}  // namespace
}  // namespace tailor::query
