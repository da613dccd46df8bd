#include "daemon/foreign/foreign_plan.h"

#include <gtest/gtest.h>

namespace tailor::foreign {
namespace {

TEST(ForeignPlan, FunctionsOfOneNameAreOneComponent) {
  ForeignPlan plan(3, "node", false, v1::TOLD_BY_PERF_MAP);
  const v1::CodeObject first = plan.add({.address = 0x1000, .size = 16, .name = "f"}, 7, 0);
  const v1::CodeObject other = plan.add({.address = 0x2000, .size = 16, .name = "g"}, 8, 0);
  const v1::CodeObject again = plan.add({.address = 0x3000, .size = 16, .name = "f"}, 9, 5);
  ASSERT_EQ(plan.plan().levels_size(), 1);
  EXPECT_EQ(plan.plan().levels(0).component_count(), 2u);
  EXPECT_EQ(plan.functions(), 2u);
  EXPECT_EQ(first.rows().link_delta(0), 1 << 1);
  EXPECT_EQ(other.rows().link_delta(0), 2 << 1);
  EXPECT_EQ(again.rows().link_delta(0), 1 << 1);
  EXPECT_EQ(first.load_tsc(), 0u);
  EXPECT_EQ(again.load_tsc(), 5u);
  EXPECT_EQ(again.plan_id(), 3u);
  EXPECT_EQ(again.id(), 9u);
  EXPECT_EQ(first.size(), 16u);
}

TEST(ForeignPlan, LinesLinkToTheirFunction) {
  formats::JitSymbol f{.address = 0x1000, .size = 16, .name = "f"};
  f.lines = {{4, 10, "a.js"}, {8, 11, "a.js"}, {8, 12, "a.js"}};
  ForeignPlan plan(1, "node", true, v1::TOLD_BY_JITDUMP);
  const v1::CodeObject code = plan.add(f, 1, 0);
  ASSERT_EQ(plan.plan().levels_size(), 2);
  const auto& lines = plan.plan().levels(1);
  EXPECT_EQ(static_cast<std::uint32_t>(lines.links_size()), lines.component_count());
  for (std::uint32_t link : lines.links()) EXPECT_EQ(link, 1u << 1);
  const auto& rows = code.rows();
  ASSERT_EQ(rows.offset_delta_size(), 3);
  ASSERT_EQ(rows.link_delta_size(), 3);
  ASSERT_EQ(rows.flags().size(), 3u);
  // Offsets 0, 4, 8; the last of two lines at one offset counts.
  EXPECT_EQ(rows.offset_delta(1), 4u);
  EXPECT_EQ(rows.offset_delta(2), 4u);
  int link = 0;
  for (int delta : rows.link_delta()) link += delta;
  EXPECT_EQ(lines.components((link >> 1) - 1).name(), "a.js:12");
}

TEST(ForeignPlan, WhatHasNoTimeIsInferred) {
  ForeignPlan timed(1, "node", true, v1::TOLD_BY_JITDUMP), untimed(2, "node", false, v1::TOLD_BY_PERF_MAP);
  const formats::JitSymbol f{.address = 0x1000, .size = 16, .name = "f"};
  EXPECT_EQ(timed.add(f, 1, 5).rows().flags()[0], v1::ROW_EXACT);
  const v1::CodeObject code = untimed.add(f, 1, 0);
  EXPECT_EQ(code.rows().flags()[0], v1::ROW_INFERRED);
  EXPECT_EQ(code.told_by(), v1::TOLD_BY_PERF_MAP);
}

TEST(ForeignPlan, AByteThatIsNoTextDestroysNoPlan) {
  formats::JitSymbol f{.address = 0x1000, .size = 16, .name = "a\xff\xc3z"};
  f.lines = {{0, 1, "b\xfe.js"}};
  ForeignPlan plan(1, "node", true, v1::TOLD_BY_JITDUMP);
  const v1::CodeObject code = plan.add(f, 1, 0);
  v1::Plan back;
  ASSERT_TRUE(back.ParseFromString(plan.plan().SerializeAsString()));
  EXPECT_EQ(back.levels(0).components(0).name(), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(back.levels(1).components(0).name(), "b\xEF\xBF\xBD.js:1");
  v1::CodeObject code_back;
  EXPECT_TRUE(code_back.ParseFromString(code.SerializeAsString()));
}

}  // namespace
}  // namespace tailor::foreign
