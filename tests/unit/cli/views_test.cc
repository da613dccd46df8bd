// The views in the terminal fit into their width and add up; what they look like is in views_golden_test.cc.
#include "daemon/serve/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "daemon/query/sums/memory_points.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"
#include "tests/unit/cli/sample_view.h"
#include "viewer/cli/render_memory.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(Flame, ThePageHasEachBoxAndItsRow) {
  serve::View view = view_of(40);
  auto report = query::flame_report(view.profile, view.selection, query::default_flame_order());
  ASSERT_TRUE(report);
  report->root.children.at(0).name = "</svg><script>alert(1)</script>";
  const std::string page = flame_html(*report, "t");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("data-name=\"Hash join\""));
  const auto times = [&](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(times("<g data-name="), times("<tr><td"));
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
}

// The same query, registered once more under another number, and run once more without a sample.
TEST(Diff, PlansThatAreOneTreeAreAddedUp) {
  const auto give_twice = [](profile::ProfileSink& sink) {
    test::give_profile(sink, 40);
    v1::Plan again = test::sample_plan();
    again.set_id(9);
    sink.on_plan(test::kSampleProcess, test::kSampleStart, again);
    std::vector<profile::SampleRecord> samples(40, test::tag_sample(test::kSampleStart + 1, 6));
    for (profile::SampleRecord& sample : samples) {
      sample.attribution.plan = 9;
      sample.attribution.execution = 90;
    }
    for (const std::uint64_t handle : {90, 91}) {
      profile::ExecutionRecord execution;
      execution.process = test::kSampleProcess;
      execution.handle = handle;
      execution.id.bytes.fill(static_cast<std::uint8_t>(handle));
      execution.plan = 9;
      execution.begin = test::kSampleStart;
      execution.end = test::kSampleStart + 2;
      sink.on_execution(execution);
    }
    sink.on_samples(samples);
  };
  auto profile = test::load(test::profile_bytes(give_twice));
  const auto twice = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, {});
  ASSERT_TRUE(twice);
  const auto both = serve::comparison(view_of(40), *twice);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->executions_a, 1u);
  EXPECT_EQ(both->executions_b, 3u) << "one of them without samples";
  EXPECT_TRUE(both->same_plan);
  EXPECT_EQ(both->b.plans.size(), 1u);
  const query::ComparedOperator& group_by = both->operators.at(0);
  EXPECT_NEAR(group_by.b->row.cost.amount.samples, group_by.a->row.cost.amount.samples + 40, 1e-9);
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
