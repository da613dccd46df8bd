#include "viewer/cli/render_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

query::BoundsReport small_bounds() {
  query::BoundsRow scan{.operator_id = 5, .operator_name = "Table scan", .region = "lineitem.l_tax"};
  scan.pattern = "sequential";
  scan.reads = true;
  scan.items = 1'000'000;
  scan.accesses = 1e6;
  scan.expected = {8.0 * (1 << 20), 0};
  scan.least = query::MovedBytes{4.0 * (1 << 20), 0};
  query::BoundsPart part{.plan = 1, .name = "figure-9", .rows = {scan}};
  part.expected = scan.expected;
  part.least = 4.0 * (1 << 20);
  return {.cache_bytes = std::uint64_t{32} << 20, .line_bytes = 64, .plans = {part}};
}

std::string bounds_text_of(const query::BoundsReport& report, std::size_t width = 160) {
  const query::Profile profile =
      test::make_profile([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  return render(profile, report, plain(width));
}

TEST(RenderBounds, ShowsWhatAnAccessMoves) {
  const std::string text = bounds_text_of(small_bounds(), 1000);
  EXPECT_THAT(text, HasSubstr("Table scan: lineitem.l_tax"));
  EXPECT_THAT(text, HasSubstr("sequential, read"));
  EXPECT_THAT(text, HasSubstr("1,000,000"));
  EXPECT_THAT(text, HasSubstr("8.0 MiB"));
  EXPECT_THAT(text, HasSubstr("4.0 MiB"));
  EXPECT_THAT(text, HasSubstr("a cache of 32.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("nothing is predicted")));
}

TEST(RenderBounds, SaysWhatIsNotKnown) {
  query::BoundsReport report = small_bounds();
  report.plans[0].rows[0].least.reset();
  query::BoundsRow& texts = report.plans[0].rows.emplace_back();
  texts.operator_name = "Table scan";
  texts.region = "evil\x1b[2Jname";
  texts.pattern = "unknown";
  texts.unknown = "its pattern is not known";
  report.plans[0].unknown = 1;
  report.plans[0].silent_operators = {"Hash join", "Group by"};
  report.silent = 2;
  const std::string text = bounds_text_of(report, 1000);
  EXPECT_THAT(text, HasSubstr("its pattern is not known"));
  EXPECT_THAT(text, HasSubstr("Of 1 of 2 accesses nothing is predicted"));
  EXPECT_THAT(text, HasSubstr("Hash join, Group by."));
  EXPECT_THAT(text, HasSubstr("2 other plans say nothing of memory"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "names are harmless";
}

TEST(RenderBounds, MarksWhatIsNotTheWholeTruth) {
  query::BoundsReport report = small_bounds();
  EXPECT_THAT(bounds_text_of(report, 4000), Not(HasSubstr("~")));
  report.plans[0].rows[0].at_least = true;
  report.plans[0].rows[0].assumes_even = true;
  const std::string text = bounds_text_of(report, 4000);
  EXPECT_THAT(text, HasSubstr("8.0 MiB"));
  EXPECT_THAT(text, HasSubstr("~4.0 MiB"));
  EXPECT_THAT(text, HasSubstr("spread evenly"));
  EXPECT_THAT(text, HasSubstr("more accesses"));
}

TEST(RenderBounds, ShowsTimesWhereARateIsGiven) {
  query::BoundsReport report = small_bounds();
  query::OperatorBound scan{.id = 5, .name = "Table scan", .measured = query::MeasuredTime{4e6, 3e6, 5e6}};
  scan.memory_ns = 2e6;
  scan.role = query::BoundRole::kMemory;
  report.plans[0].operators = {scan};
  EXPECT_THAT(bounds_text_of(report, 4000), Not(HasSubstr("bound by")));
  report.rates.bytes = 10e9;
  report.plans[0].not_measured = "an execution runs still";
  const std::string text = bounds_text_of(report, 4000);
  EXPECT_THAT(text, HasSubstr("2.0 x"));
  EXPECT_THAT(text, HasSubstr("memory"));
  EXPECT_THAT(text, HasSubstr("10 GB in a second"));
  EXPECT_THAT(text, HasSubstr("the whole plan"));
  EXPECT_THAT(text, HasSubstr("No time is measured: an execution runs still."));
}

TEST(RenderBounds, FitsNarrowTerminals) {
  EXPECT_THAT(bounds_text_of(small_bounds(), 40), HasSubstr("8.0 MiB"));
}

}  // namespace
}  // namespace tailor::cli
