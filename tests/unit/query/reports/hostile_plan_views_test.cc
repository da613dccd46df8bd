// Plans that are small messages and would be endless views: what they may cost, and that no cost is lost.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/compare.h"
#include "daemon/query/reports/flame.h"
#include "daemon/query/sums/owners.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr std::uint32_t kMany = 800;

void add_all(v1::LinkSet& set) {
  for (std::uint32_t id = 1; id <= kMany; ++id) set.add_ids(id);
}

// Every task is of every operator, every line of every task.
Profile everything_of_everybody(int lines) {
  return test::make_profile([lines](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::Plan plan;
    plan.set_id(test::kSamplePlan);
    v1::Level &operators = *plan.add_levels(), &tasks = *plan.add_levels(), &ir = *plan.add_levels();
    operators.set_name("operator");
    operators.set_component_count(kMany);
    tasks.set_name("task");
    tasks.set_component_count(kMany);
    for (std::uint32_t id = 1; id <= kMany; ++id) tasks.add_links(1);
    add_all(*tasks.add_link_sets());
    ir.set_name("ir");
    ir.set_component_count(static_cast<std::uint32_t>(lines));
    for (int i = 0; i < lines; ++i) ir.add_links(1);
    add_all(*ir.add_link_sets());
    v1::Attachment& text = *plan.add_attachments();
    text.set_kind("ir");
    for (int i = 0; i < lines; ++i) text.mutable_content()->append("  x\n");
    sink.on_plan(test::kSampleProcess, 0, plan);
    const profile::SampleRecord sample = test::ir_sample(1, 1);
    sink.on_samples({&sample, 1});
  });
}

std::size_t nodes_of(const FlameNode& node) {
  return std::accumulate(node.children.begin(), node.children.end(), std::size_t{1},
                         [](std::size_t sum, const FlameNode& child) { return sum + nodes_of(child); });
}

TEST(HostilePlanViews, ACellHasOnePartForEachOwner) {
  const Profile profile = everything_of_everybody(1);
  const OwnerTable owners(profile, {}, 0, OwnedBy::kOperator);
  double sum = 0;
  for (const auto& [key, cell] : profile.cells()) {
    const auto* parts = owners.parts(&key);
    ASSERT_NE(parts, nullptr);
    EXPECT_LE(parts->size(), kMany);
    for (const OwnerPart& part : *parts) sum += part.part;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_LE(owners.parts_kept(), kMany);
}

TEST(HostilePlanViews, AFlameTreeHasABoundAndAllOfTheCost) {
  const Profile profile = everything_of_everybody(1);
  const auto report = flame_report(profile, {}, default_flame_order());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_LE(nodes_of(report->root), (std::size_t{1} << 19) + 1);
  EXPECT_NEAR(report->root.samples, 1, 1e-6);
  double children = 0;
  for (const FlameNode& child : report->root.children) children += child.samples;
  EXPECT_NEAR(children, 1, 1e-6);
}

TEST(HostilePlanViews, ALineNamesSomeOfItsOwners) {
  constexpr int kLines = 300;
  const Profile profile = everything_of_everybody(kLines);
  const auto report = annotate_report(profile, {}, 0);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->lines.size(), static_cast<std::size_t>(kLines));
  for (const AnnotatedLine& line : report->lines) {
    EXPECT_LE(line.operators.size(), 65u);
    EXPECT_LE(line.operator_keys.size(), 64u);
    EXPECT_LE(line.task_keys.size(), 64u);
    EXPECT_EQ(line.operators.back(), "736 more");
  }
  EXPECT_DOUBLE_EQ(report->lines[0].cost.amount.samples, 1);
}

// What a path takes does not grow with its depth.
TEST(Compare, PathsOfDeepPlansAreDigests) {
  constexpr std::uint32_t kDeep = 20'000;
  std::vector<OperatorRow> rows(kDeep);
  for (std::uint32_t i = 0; i < kDeep; ++i) {
    rows[i].depth = i;
    rows[i].name = std::string(1000, 'x');
  }
  PlanReport report;
  report.plans.emplace_back().operators = rows;
  const auto paths = operator_paths(rows);
  EXPECT_EQ(std::set(paths.begin(), paths.end()).size(), kDeep) << "each has its own";
  const Comparison same = compare(report, report);
  EXPECT_TRUE(same.same_plan);
  for (const ComparedOperator& row : same.operators) EXPECT_EQ(row.change, Change::kMatched);
}

// What an engine counted differs each time; what it looks for makes another operator.
TEST(Compare, CountsAndEstimatesAreNoPartOfAnOperator) {
  const auto scan = [](const std::string& rows, const std::string& filter) {
    OperatorRow row;
    row.name = "scan";
    row.attributes = {{"actual_rows", rows},
                      {"estimated_rows", rows},
                      {"filter", filter},
                      {"loops", rows},
                      {"pages_hit", rows}};
    PlanReport report;
    report.plans.emplace_back().operators = {row};
    return report;
  };
  EXPECT_TRUE(compare(scan("10", "a = ?"), scan("20", "a = ?")).same_plan);
  EXPECT_FALSE(compare(scan("10", "a = ?"), scan("10", "b = ?")).same_plan);
}

}  // namespace
}  // namespace tailor::query
