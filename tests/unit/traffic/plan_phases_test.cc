#include "proto/traffic/plan_phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/traffic/estimate.h"
#include "proto/traffic/lower_bound.h"

namespace tailor::traffic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Access& add_access(v1::Component& component, v1::AccessPattern pattern, const std::string& region,
                       std::uint32_t pipeline, std::uint32_t item_bytes) {
  v1::Access& access = *component.add_accesses();
  access.set_pattern(pattern);
  access.set_region(region);
  access.set_pipeline(pipeline);
  access.set_item_bytes(item_bytes);
  access.set_reads(true);
  return access;
}

// A scan (1) and a scan (2) that are joined (3). Pipeline 2 builds the table, and pipeline 1 probes it.
v1::Plan join_plan() {
  v1::Plan plan;
  v1::Level& operators = *plan.add_levels();
  operators.set_component_count(3);
  for (std::uint32_t id = 1; id <= 3; ++id) operators.add_components()->set_id(id);
  v1::Component& join = *operators.mutable_components(2);
  join.add_inputs(1);
  join.add_inputs(2);
  v1::Pipeline& probe = *plan.add_pipelines();
  probe.set_id(1);
  probe.add_depends_on(2);
  plan.add_pipelines()->set_id(2);

  add_access(*operators.mutable_components(0), v1::ACCESS_SEQUENTIAL, "part.key", 2, 8);
  v1::Access& column =
      add_access(*operators.mutable_components(1), v1::ACCESS_CONDITIONAL, "lineitem.key", 1, 8);
  column.mutable_items()->set_fixed(8000);
  column.mutable_accesses()->set_rows_of(2);
  v1::Access& build = add_access(join, v1::ACCESS_SEQUENTIAL, "join build", 2, 24);
  build.set_region_owner(3);
  build.set_reads(false);
  build.set_writes(true);
  build.mutable_items()->set_rows_of(1);
  v1::Access& insert = add_access(join, v1::ACCESS_RANDOM, "join directory", 2, 8);
  insert.set_step(1);
  insert.set_writes(true);
  insert.mutable_items()->set_rows_of(1);
  insert.mutable_items()->set_factor(2);
  insert.mutable_accesses()->set_rows_of(1);
  v1::Access& probes = add_access(join, v1::ACCESS_RANDOM, "join build", 1, 24);
  probes.set_region_owner(3);
  probes.mutable_items()->set_rows_of(1);
  probes.mutable_accesses()->set_rows_into(3);
  return plan;
}

RunNumbers numbers() {
  return {.rows_of = [](std::uint32_t component) -> std::optional<double> {
            return component == 1 ? 1000 : 2000;
          },
          .region_bytes = [](const std::string& region, std::uint32_t) -> std::optional<double> {
            if (region == "part.key") return 8000;
            return std::nullopt;
          }};
}

TEST(PlanPhases, AreOrderedByPipelinesAndSteps) {
  const PlanPhases found = plan_phases(join_plan(), numbers());
  EXPECT_TRUE(found.unpredicted.empty());
  ASSERT_EQ(found.phases.size(), 3U);
  ASSERT_EQ(found.phases[0].patterns.size(), 2U) << "the build, although its number is higher";
  ASSERT_EQ(found.phases[1].patterns.size(), 1U) << "the end of the build";
  ASSERT_EQ(found.phases[2].patterns.size(), 2U);
  EXPECT_THAT(found.accesses[0], ElementsAre(AccessAt{0, 1, 0}, AccessAt{0, 3, 0}));
  EXPECT_THAT(found.accesses[1], ElementsAre(AccessAt{0, 3, 1}));
  EXPECT_THAT(found.accesses[2], ElementsAre(AccessAt{0, 2, 0}, AccessAt{0, 3, 2}));

  const Pattern& scan = found.phases[0].patterns[0];
  EXPECT_EQ(scan.kind, PatternKind::kSequential);
  EXPECT_EQ(scan.region.items, 1000U) << "8000 bytes of 8";
  const Pattern& build = found.phases[0].patterns[1];
  EXPECT_TRUE(build.writes);
  EXPECT_FALSE(build.reads);
  const Pattern& insert = found.phases[1].patterns[0];
  EXPECT_EQ(insert.region.items, 2000U) << "with its factor";
  EXPECT_EQ(insert.accesses, 1000U);
  const Pattern& column = found.phases[2].patterns[0];
  EXPECT_EQ(column.kind, PatternKind::kConditional);
  EXPECT_DOUBLE_EQ(column.share, 0.25);
  const Pattern& probes = found.phases[2].patterns[1];
  EXPECT_EQ(probes.accesses, 3000U) << "rows of both inputs";
  EXPECT_EQ(probes.region.id, build.region.id) << "the same region in two phases";
  EXPECT_EQ(found.regions[probes.region.id], "join build");

  EXPECT_TRUE(estimate({.lines = 100}, found.phases, Ending::kWrittenBack).ok());
  EXPECT_TRUE(traffic::lower_bound({.lines = 100}, found.phases, Ending::kWrittenBack).ok());
}

// Why the first access of the plan, after a change, is not predicted.
template <typename Change>
std::string reason(Change change) {
  v1::Plan plan = join_plan();
  change(*plan.mutable_levels(0)->mutable_components(0)->mutable_accesses(0));
  const PlanPhases found = plan_phases(plan, numbers());
  if (found.unpredicted.empty()) return "";
  EXPECT_EQ(found.unpredicted.front().at, (AccessAt{0, 1, 0}));
  EXPECT_EQ(found.unpredicted.size(), 1U);
  return found.unpredicted.front().reason;
}

TEST(PlanPhases, WhatIsNotKnownIsSaid) {
  EXPECT_EQ(reason([](v1::Access&) {}), "");
  EXPECT_THAT(reason([](v1::Access& a) { a.set_pattern(v1::ACCESS_UNKNOWN); }), HasSubstr("not known"));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_pattern(static_cast<v1::AccessPattern>(99)); }),
              HasSubstr("not known"));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_region("other"); }), HasSubstr("size of region \"other\""));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_pipeline(0); }), HasSubstr("no pipeline"));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_pipeline(9); }), HasSubstr("no pipeline"));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_item_bytes(0); }), HasSubstr("no width"));
  EXPECT_THAT(reason([](v1::Access& a) { a.mutable_items(); }), HasSubstr("how many"));
  EXPECT_THAT(reason([](v1::Access& a) { a.mutable_items()->set_rows_into(1); }),
              HasSubstr("rows into component 1"));
  EXPECT_THAT(reason([](v1::Access& a) { a.set_reads(false); }), HasSubstr("neither reads nor writes"));
  EXPECT_THAT(reason([](v1::Access& a) { a.mutable_items()->set_fixed(UINT64_MAX); }),
              HasSubstr("more than"));
  EXPECT_THAT(reason([](v1::Access& a) {
                a.mutable_items()->set_fixed(5);
                a.mutable_items()->set_factor(std::nan(""));
              }),
              HasSubstr("makes no sense"));
}

// Items of the first access, of a directory that has `factor` slots for each of `rows` rows.
std::uint64_t slots(double rows, double factor) {
  v1::Plan plan = join_plan();
  v1::Count& items = *plan.mutable_levels(0)->mutable_components(0)->mutable_accesses(0)->mutable_items();
  items.set_rows_of(2);
  items.set_factor(factor);
  items.set_power_of_two(true);
  const PlanPhases found =
      plan_phases(plan, {.rows_of = [rows](std::uint32_t) { return std::optional(rows); }});
  return found.phases.empty() || found.phases[0].patterns.empty() ? 0
                                                                  : found.phases[0].patterns[0].region.items;
}

TEST(PlanPhases, SlotsAreAPowerOfTwo) {
  EXPECT_EQ(slots(1000, 1.5), 2048U);
  EXPECT_EQ(slots(683, 1.5), 1024U) << "1024.5 is rounded down first";
  EXPECT_EQ(slots(684, 1.5), 2048U);
  EXPECT_EQ(slots(1024, 0), 1024U) << "it is one already";
  EXPECT_EQ(slots(0, 1.5), 0U);
  EXPECT_EQ(reason([](v1::Access& a) {
              a.mutable_items()->set_fixed(3);
              a.mutable_items()->set_power_of_two(true);
            }),
            "");
  EXPECT_THAT(reason([](v1::Access& a) {
                a.mutable_items()->set_fixed(5);
                a.mutable_items()->set_factor(std::nan(""));
                a.mutable_items()->set_power_of_two(true);
              }),
              HasSubstr("makes no sense"));
  EXPECT_THAT(reason([](v1::Access& a) {
                a.mutable_items()->set_fixed(UINT64_MAX);
                a.mutable_items()->set_power_of_two(true);
              }),
              HasSubstr("more than"));
}

TEST(PlanPhases, ComputationIsCyclesTimesRows) {
  v1::Plan plan = join_plan();
  for (int i = 0; i < 2; ++i) {
    v1::Computation& each = *plan.mutable_levels(0)->mutable_components(i)->mutable_computation();
    each.set_cycles_per_row(2.5);
    if (i == 0) each.mutable_rows()->set_rows_of(2);
  }
  const PlanPhases found = plan_phases(plan, numbers());
  ASSERT_EQ(found.computed.size(), 2U);
  EXPECT_EQ(found.computed[0].component, 1U);
  ASSERT_TRUE(found.computed[0].cycles);
  EXPECT_DOUBLE_EQ(*found.computed[0].cycles, 5000);
  EXPECT_FALSE(found.computed[1].cycles) << "it does not say for how many rows";
  plan.mutable_levels(0)->mutable_components(0)->mutable_computation()->set_cycles_per_row(std::nan(""));
  EXPECT_FALSE(plan_phases(plan, numbers()).computed[0].cycles);
}

TEST(PlanPhases, WithoutNumbersNothingIsPredictedThatNeedsThem) {
  const PlanPhases found = plan_phases(join_plan(), {});
  EXPECT_TRUE(found.phases.empty());
  ASSERT_EQ(found.unpredicted.size(), 5U);
  EXPECT_THAT(found.unpredicted[1].reason, HasSubstr("rows of component 2"));
}

TEST(PlanPhases, PlansThatDoNotFitTogetherDoNoHarm) {
  EXPECT_TRUE(plan_phases({}, numbers()).phases.empty());
  v1::Plan plan = join_plan();
  plan.mutable_pipelines(1)->add_depends_on(1);  // in a circle
  plan.mutable_pipelines(1)->add_depends_on(77);
  plan.mutable_levels(0)->mutable_components(2)->add_inputs(55);
  EXPECT_EQ(plan_phases(plan, numbers()).phases.size(), 3U);

  v1::Component& scan = *plan.mutable_levels(0)->mutable_components(0);
  const v1::Access access = scan.accesses(0);
  for (std::size_t i = 0; i < 2 * kMostPatternsOfPhase; ++i) *scan.add_accesses() = access;
  const PlanPhases wide = plan_phases(plan, numbers());
  std::size_t patterns = 0;
  for (const Phase& phase : wide.phases) {
    EXPECT_LE(phase.patterns.size(), kMostPatternsOfPhase);
    patterns += phase.patterns.size();
  }
  EXPECT_EQ(patterns + wide.unpredicted.size(), 5 + 2 * kMostPatternsOfPhase) << "none is forgotten";
  for (std::size_t i = 0; i < kMostPatterns + 10; ++i) {
    *scan.add_accesses() = access;
    scan.mutable_accesses(scan.accesses_size() - 1)->set_step(static_cast<std::uint32_t>(i));
  }
  EXPECT_TRUE(check({.lines = 100}, plan_phases(plan, numbers()).phases).ok());
}

TEST(PlanPhases, ATraversalThatWasNeverMadeMovesNothing) {
  v1::Plan plan = join_plan();
  plan.mutable_levels(0)->mutable_components(0)->mutable_accesses(0)->mutable_times()->set_fixed(0);
  const PlanPhases found = plan_phases(plan, numbers());
  ASSERT_EQ(found.phases.size(), 3U);
  EXPECT_EQ(found.phases[0].patterns[0].region.items, 0U);
}

}  // namespace
}  // namespace tailor::traffic
