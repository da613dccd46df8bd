// Rows of operators, and the notice of lost marks, in printed reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"
#include "viewer/cli/render.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string printed(const query::Profile& profile, const Terminal& terminal) {
  auto report = query::plan_report(profile, {});
  EXPECT_TRUE(report);
  return render(profile, *report, terminal);
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

using Numbers = std::initializer_list<std::pair<const char*, double>>;

// A profile in which "Table scan" on orders has these attributes beside its own.
query::Profile scan_of_orders(Numbers attributes) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 2);
    v1::Plan plan = test::sample_plan();
    for (const auto& [key, number] : attributes) {
      v1::Attribute& attribute = *plan.mutable_levels(0)->mutable_components(3)->add_attributes();
      attribute.set_key(key);
      attribute.set_number(number);
    }
    sink.on_plan(test::kSampleProcess, 0, plan);
  });
}

// The line of that scan.
std::string orders_with(Numbers attributes) {
  for (const std::string& line : lines_in(printed(scan_of_orders(attributes), plain(240)))) {
    if (const std::size_t at = line.find("orders; "); at != std::string::npos) return line.substr(at);
  }
  return {};
}

TEST(RenderPlan, EstimatedAndActualRows) {
  EXPECT_EQ(orders_with({}), "orders; ~15,000 rows");
  EXPECT_EQ(orders_with({{"cost", 7.5}, {"loops", 1}, {"actual_rows", 14987}}),
            "orders; ~15,000 rows, 14,987 counted; cost: 7.5");
  EXPECT_EQ(orders_with({{"loops", 12}, {"actual_rows", 3}}),
            "orders; ~15,000 rows, 3 counted in each of 12 loops: 1/5,000 of the estimate");
  EXPECT_EQ(orders_with({{"loops", 0}}), "orders; ~15,000 rows, never run");
  EXPECT_EQ(orders_with({{"actual_rows", 0}}), "orders; ~15,000 rows, 0 counted: none of the estimate");
}

TEST(RenderPlan, MisestimatesAreMarked) {
  EXPECT_EQ(orders_with({{"actual_rows", 59'999}}), "orders; ~15,000 rows, 59,999 counted");
  EXPECT_EQ(orders_with({{"actual_rows", 60'000}}),
            "orders; ~15,000 rows, 60,000 counted: 4 times the estimate");
  EXPECT_EQ(orders_with({{"actual_rows", 3'751}}), "orders; ~15,000 rows, 3,751 counted");
  EXPECT_EQ(orders_with({{"actual_rows", 3'750}}),
            "orders; ~15,000 rows, 3,750 counted: 1/4 of the estimate");
  Terminal coloured = plain(240);
  coloured.colour = true;
  EXPECT_THAT(printed(scan_of_orders({{"actual_rows", 60'000}}), coloured),
              HasSubstr(coloured.warn("4 times the estimate")));
}

// What has no room beside the name stands below it, whole.
TEST(RenderPlan, CountedRowsAreReadAtAnyWidth) {
  const query::Profile profile =
      scan_of_orders({{"cost", 1234.5}, {"loops", 1'200}, {"actual_rows", 3}, {"pages_hit", 123'456}});
  for (std::size_t width : {60, 80, 100, 120, 160}) {
    std::string words;
    for (const std::string& line : lines_in(printed(profile, plain(width)))) {
      EXPECT_LE(columns(line), width) << line;
      const std::size_t begin = line.find_first_not_of(" │");
      if (begin != std::string::npos) words += (words.empty() ? "" : " ") + line.substr(begin);
    }
    EXPECT_THAT(words, HasSubstr("3 counted in each of 1,200 loops")) << width;
    EXPECT_THAT(words, HasSubstr("1/5,000 of the estimate")) << width;
  }
  const std::string narrow = printed(profile, plain(80));
  EXPECT_THAT(narrow, testing::ContainsRegex("Table scan[^\n]*\n +│ +~15,000 rows, 3 counted"));
  EXPECT_THAT(narrow, Not(testing::ContainsRegex("\n +\n")));
}

TEST(RenderPlan, LostMarksAreSaidFirst) {
  const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 10);
    profile::SampleRecord lost = test::ir_sample(1, 3);
    lost.attribution = {};
    lost.attribution.reason = profile::Reason::kMarksLost;
    sink.on_samples(std::vector{lost, lost});
    profile::Accounting account;
    account.process = test::kSampleProcess;
    account.received = account.attributed = 162;
    account.log_lost = 12'345;
    sink.on_accounting(account);
  });
  const std::string text = printed(profile, plain(2000));
  EXPECT_TRUE(text.starts_with("Marks were lost:")) << text;
  EXPECT_THAT(text,
              HasSubstr("(12,345 records of the whole recording). 2 samples of this report (1.2 %) are"));
  EXPECT_THAT(text, testing::ContainsRegex(" 2 [^\n]* marks lost\n"));
}

// Records that another thread, or this one at another time, has lost say nothing about these samples.
TEST(RenderPlan, LostMarksOfOthersAreNoNotice) {
  constexpr ProcessId kOther = {.pid = 999, .start = 1};
  struct Case {
    std::uint64_t own_unknown, others_unknown;
    bool is_said;
  };
  for (const Case& lost : {Case{0, 0, false}, Case{0, 7, false}, Case{7, 0, true}}) {
    const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 10);
      profile::Accounting account;
      account.process = test::kSampleProcess;
      account.received = account.attributed = 160;
      account.log_lost = 12'345;
      account.executions_unknown = lost.own_unknown;
      sink.on_accounting(account);
      profile::Accounting other;
      other.process = kOther;
      other.executions_unknown = lost.others_unknown;
      sink.on_accounting(other);
    });
    const std::string text = printed(profile, plain(2000));
    EXPECT_EQ(text.starts_with("Marks were lost:"), lost.is_said) << text;
    EXPECT_EQ(text.find("recording). 7 samples of its processes belong to operators") != std::string::npos,
              lost.is_said);
    // The count stands below in any case.
    EXPECT_THAT(text, HasSubstr("12,345 activity records were lost."));
  }
}

TEST(RenderPlan, OneLostSampleIsSingular) {
  for (const std::uint64_t count : {1, 2}) {
    const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 10);
      profile::SampleRecord lost = test::ir_sample(1, 3);
      lost.attribution = {};
      lost.attribution.reason = profile::Reason::kMarksLost;
      sink.on_samples(std::vector(count, lost));
      profile::Accounting account;
      account.process = test::kSampleProcess;
      account.received = account.attributed = 160 + count;
      account.log_lost = 3;
      account.executions_unknown = count;
      sink.on_accounting(account);
    });
    const std::string text = printed(profile, plain(2000));
    EXPECT_THAT(text,
                testing::ContainsRegex(count == 1 ? " 1 sample of this report [^a-z]* is unattributed for it"
                                                  : " 2 samples of this report [^a-z]* are unattributed"));
    EXPECT_THAT(text, HasSubstr(count == 1 ? " 1 sample more of its processes belongs to operators"
                                           : " 2 samples more of its processes belong to operators"));
  }
}

}  // namespace
}  // namespace tailor::cli
