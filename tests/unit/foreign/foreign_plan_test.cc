#include "daemon/foreign/foreign_plan.h"

#include <gtest/gtest.h>

namespace tailor::foreign {
namespace {

std::uint64_t identity(std::uint64_t t) {
  return t;
}

TEST(ForeignPlan, FunctionsOfOneNameAreOneComponent) {
  auto made = make_foreign_plan({{.address = 0x1000, .size = 16, .name = "f"},
                                 {.address = 0x2000, .size = 16, .name = "g"},
                                 {.address = 0x3000, .size = 16, .name = "f", .timestamp_ns = 5}},
                                "node", identity);
  ASSERT_EQ(made.plan.levels_size(), 1);
  EXPECT_EQ(made.plan.levels(0).component_count(), 2u);
  ASSERT_EQ(made.code.size(), 3u);
  EXPECT_EQ(made.code[0].rows().link_delta(0), 1 << 1);
  EXPECT_EQ(made.code[1].rows().link_delta(0), 2 << 1);
  EXPECT_EQ(made.code[2].rows().link_delta(0), 1 << 1);
  EXPECT_EQ(made.code[0].load_tsc(), 0u);
  EXPECT_EQ(made.code[2].load_tsc(), 5u);
  EXPECT_EQ(made.code[0].size(), 16u);
}

TEST(ForeignPlan, LinesLinkToTheirFunction) {
  JitSymbol f{.address = 0x1000, .size = 16, .name = "f"};
  f.lines = {{4, 10, "a.js"}, {8, 11, "a.js"}, {8, 12, "a.js"}};
  auto made = make_foreign_plan({f}, "node", identity);
  ASSERT_EQ(made.plan.levels_size(), 2);
  const auto& lines = made.plan.levels(1);
  EXPECT_EQ(static_cast<std::uint32_t>(lines.links_size()), lines.component_count());
  for (std::uint32_t link : lines.links()) EXPECT_EQ(link, 1u << 1);
  const auto& rows = made.code[0].rows();
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
