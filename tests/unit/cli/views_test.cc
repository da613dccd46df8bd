// Golden pictures of the views in the terminal, at 80 and 200 columns, and the gate for regressions.
#include "daemon/serve/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "daemon/query/memory_points.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"
#include "viewer/cli/regression_gate.h"
#include "viewer/cli/render_memory.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

serve::View view_of(int rounds) {
  query::LoadOptions options;
  options.keep_samples = true;
  auto profile = test::load(
      test::profile_bytes([&](profile::ProfileSink& sink) { test::give_profile(sink, rounds); }), options);
  auto view = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, {});
  EXPECT_TRUE(view);
  return std::move(*view);
}

void expect_narrow(const std::string& text, std::size_t width) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(columns(line), width) << line;
}

TEST(Timeline, FitsAndAddsUp) {
  const serve::View view = view_of(40);
  for (const std::size_t width : {80, 200}) {
    for (const bool ascii : {false, true}) {
      const Terminal terminal = plain(width, ascii);
      serve::TimelineRequest request;
      request.buckets = static_cast<std::uint32_t>(timeline_buckets(terminal));
      const auto line = serve::timeline_of(view, request);
      ASSERT_TRUE(line);
      const std::string text = render(view, *line, terminal, 12);
      expect_narrow(text, width);
      EXPECT_THAT(text, HasSubstr("Group by"));
      EXPECT_THAT(text, HasSubstr("Hash join"));
      EXPECT_EQ(std::ranges::all_of(text, [](char c) { return c >= 0; }), ascii);
    }
  }
}

TEST(Timeline, RowsBeyondTheLimitAreOneRow) {
  const serve::View view = view_of(40);
  serve::TimelineRequest request;
  request.lanes = query::Lanes::kAll;
  request.buckets = 20;
  const auto line = serve::timeline_of(view, request);
  ASSERT_TRUE(line);
  const std::size_t owners = line->lanes.front().series.size();
  ASSERT_GT(owners, 3u);
  EXPECT_THAT(render(view, *line, plain(120), 2), HasSubstr(std::to_string(owners - 2) + " more"));
}

TEST(Flame, TheTreeAndTheStacksAddUp) {
  const serve::View view = view_of(40);
  const auto report = query::flame_report(view.profile, view.selection, query::default_flame_order());
  ASSERT_TRUE(report);
  const std::string text = render(*report, plain(80), 0);
  expect_narrow(text, 80);
  EXPECT_THAT(text, HasSubstr("100.0 %"));
  std::istringstream in(flame_folded(*report));
  double sum = 0;
  for (std::string line; std::getline(in, line);) sum += std::stod(line.substr(line.rfind(' ')));
  EXPECT_NEAR(sum, report->root.weight, 0.001 * report->root.weight);
  const std::string svg = flame_svg(*report, "a < b & \"c\"");
  EXPECT_THAT(svg, StartsWith("<?xml"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
}

TEST(Flame, SmallBranchesAreOneLine) {
  const serve::View view = view_of(40);
  const auto report = query::flame_report(view.profile, view.selection, query::default_flame_order());
  ASSERT_TRUE(report);
  EXPECT_THAT(render(*report, plain(80), 0.3), HasSubstr("more (--least)"));
  EXPECT_THAT(render(*report, plain(80), 0), Not(HasSubstr("more (--least)")));
}

TEST(Diff, OfAProfileAndItselfShowsNoChange) {
  const serve::View view = view_of(40);
  const auto both = serve::comparison(view, view);
  ASSERT_TRUE(both);
  const std::string text = render(*both, "a.tailor", "b.tailor", plain(120));
  EXPECT_THAT(text, HasSubstr("The plans are the same"));
  EXPECT_THAT(text, HasSubstr("+0.0 %"));
  for (const char* condition : {"total>0%", "operator>0%", "plan"})
    EXPECT_EQ(why_it_holds(*parse_condition(condition), *both, 1, 1), "") << condition;
}

TEST(Diff, GrowthIsToldWhereItIsSure) {
  const serve::View a = view_of(100), b = view_of(300);
  const auto both = serve::comparison(a, b);
  ASSERT_TRUE(both);
  EXPECT_THAT(why_it_holds(*parse_condition("total>100%"), *both, 1, 1),
              HasSubstr("the total grew by 200.0 %"));
  EXPECT_EQ(why_it_holds(*parse_condition("total>200%"), *both, 1, 1), "")
      << "not surely by more than it did";
  EXPECT_THAT(why_it_holds(*parse_condition("operator>20%"), *both, 1, 1), HasSubstr("Group by"));
  EXPECT_EQ(why_it_holds(*parse_condition("total>0%"), *both, 1, 3), "") << "three times the executions";
}

TEST(Diff, ConditionsThatAreNone) {
  for (const char* text :
       {"", "total", "total>", "total>5", "total>-1%", "total>x%", "total>nan%", "totals>5%"}) {
    const auto condition = parse_condition(text);
    ASSERT_FALSE(condition) << text;
    EXPECT_THAT(condition.error().message, HasSubstr("there are total>N%, operator>N% and plan"));
  }
}

TEST(Memory, PicturesAndPatternsOfRegions) {
  query::MemoryPoints points;
  points.regions.push_back({test::kSampleProcess, 5, 77, 0x1000, 800, 0, kTimeMax, 64});
  for (int i = 0; i < 64; ++i) {
    points.time.push_back(1000 + i * 1000);
    points.region.push_back(0);
    points.offset.push_back(static_cast<std::uint64_t>(i) * 12);
    points.owner.push_back(0);
    points.tid.push_back(77);
    points.execution.push_back(1);
    points.weight.push_back(1);
    points.latency.push_back(0);
  }
  points.total = 64;
  const serve::View view = view_of(1);
  const std::string text = render_accesses(view.profile, points, 0, 3, plain(80));
  expect_narrow(text, 80);
  // A scan is a line from the lower left to the upper right.
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 11u) << text;
  EXPECT_LT(lines[9].find("█"), lines[6].find("█"));
  EXPECT_LT(lines[6].find("█"), lines[2].find("█"));

  query::MemoryReport report;
  report.total = {64, 64, 64};
  query::MemoryRow row;
  row.process = test::kSampleProcess;
  row.region = 5;
  row.region_name = "column";
  row.cost.amount = {64, 64, 0, 0, 0};
  report.rows.push_back(row);
  const auto rows = query::region_rows(view.profile, report, points);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].walk.pattern, query::Pattern::kSequential);
  EXPECT_THAT(render_regions(rows, plain(80)), HasSubstr("sequential"));
}

}  // namespace
}  // namespace tailor::cli
