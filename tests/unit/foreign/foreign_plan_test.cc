#include "daemon/foreign/foreign_plan.h"

#include <gtest/gtest.h>

namespace tailor::foreign {
namespace {

TEST(ForeignPlan, FunctionsOfOneNameAreOneComponent) {
  ForeignPlan plan(3, "node", false);
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
  ForeignPlan plan(1, "node", true);
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

}  // namespace
}  // namespace tailor::foreign
