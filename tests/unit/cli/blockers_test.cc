// Who held the locks that executions wait for: as a tree in a report, and live.
#include "daemon/profile/blockers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/plan_report.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"
#include "viewer/cli/held_up.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_blockers.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr TimeNs kS = 1'000'000'000;

ExecutionId id_of(std::uint8_t number) {
  ExecutionId id;
  id.bytes.fill(number);
  return id;
}

profile::ExecutionRecord held_up(std::uint8_t number, std::vector<profile::Blocker> seen) {
  profile::ExecutionRecord record;
  record.process = {5000 + number, 7};
  record.handle = number;
  record.id = id_of(number);
  record.begin = 100 * kS;
  record.end = 110 * kS;
  record.blockers = std::make_shared<const profile::Blockers>(profile::Blockers{std::move(seen), 0});
  return record;
}

std::string tree(const std::vector<profile::ExecutionRecord>& executions, std::size_t width = 100) {
  query::ProfileLoader loader{query::LoadOptions{}};
  for (const profile::ExecutionRecord& each : executions) loader.on_execution(each);
  return blockers_section(loader.finish(), executions.front(), plain(width));
}

TEST(Blockers, AreATreeWithTimes) {
  const std::string text = tree({held_up(1, {{{5002, 7}, id_of(2), 102 * kS, 105 * kS}}),
                                 held_up(2, {{{5003, 7}, {}, 101 * kS, 104 * kS}})});
  EXPECT_THAT(text, HasSubstr("\n  process 5002, execution 020202020202: "));
  EXPECT_THAT(text, HasSubstr("\n    process 5003, no execution that is known: "));
  EXPECT_THAT(text, Not(HasSubstr("more")));
}

// Below a holder stands only what it waited for meanwhile.
TEST(Blockers, OtherTimesAreNotInTheTree) {
  const std::string text = tree({held_up(1, {{{5002, 7}, id_of(2), 102 * kS, 105 * kS}}),
                                 held_up(2, {{{5003, 7}, {}, 106 * kS, 107 * kS}})});
  EXPECT_THAT(text, Not(HasSubstr("5003")));
}

TEST(Blockers, CirclesAndCrowdsEnd) {
  std::vector<profile::Blocker> all;
  for (int i = 0; i < 64; ++i) all.push_back({{6000 + i, 7}, id_of(2), 101 * kS, 109 * kS});
  std::vector<profile::Blocker> back = {{{5001, 7}, id_of(1), 101 * kS, 109 * kS}};
  const std::string text = tree({held_up(1, all), held_up(2, back)}, 40);
  EXPECT_THAT(text, HasSubstr(" more\n"));
  EXPECT_LT(text.size(), 60u * 60u);
  EXPECT_EQ(tree({held_up(3, {{{5003, 7}, id_of(3), 101 * kS, 102 * kS}})}).find("    process"),
            std::string::npos)
      << "it waits for itself";
}

// Beside others that ran at the same time, and also where the execution has no sample in its plan.
TEST(Blockers, TheReportOfAnExecutionHasThem) {
  query::ProfileLoader loader{query::LoadOptions{}};
  test::give_context(loader);
  constexpr ExecutionHandle kOther = 99;
  for (const auto& [handle, holder] : {std::pair(test::kSampleExecution, 5002), std::pair(kOther, 5003)}) {
    profile::ExecutionRecord record =
        held_up(static_cast<std::uint8_t>(handle), {{{holder, 7}, {}, 102 * kS, 103 * kS}});
    record.process = test::kSampleProcess;
    record.handle = handle;
    record.plan = test::kSamplePlan;
    loader.on_execution(record);
  }
  profile::SampleRecord nobodys = test::ir_sample(test::kSampleStart, 4);
  nobodys.attribution = {.reason = profile::Reason::kUnknownUserCode, .execution = kOther};
  for (const profile::SampleRecord& sample : {test::ir_sample(test::kSampleStart, 4), nobodys})
    loader.on_samples({&sample, 1});
  const query::Profile profile = loader.finish();
  const auto text_of = [&](const query::Selection& selection) {
    const auto report = query::plan_report(profile, selection);
    return report ? render(profile, *report, plain(100)) : report.error().message;
  };
  const std::string heading = "It waited for locks that others held\n  process ";
  const std::string one = text_of({.executions = {{test::kSampleProcess, test::kSampleExecution}}});
  EXPECT_THAT(one, HasSubstr(heading + "5002,"));
  EXPECT_THAT(one, Not(HasSubstr("5003")));
  const std::string other = text_of({.executions = {{test::kSampleProcess, kOther}}});
  EXPECT_THAT(other, HasSubstr(heading + "5003,"));
  EXPECT_THAT(other, Not(HasSubstr("5002")));
  EXPECT_THAT(text_of({}), Not(HasSubstr(heading))) << "of several executions it is not said whose they are";
}

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;

// It began at `kWall`, and runs.
store::ExecutionRow running(std::uint8_t number, std::vector<profile::Blocker> seen) {
  store::ExecutionRow row;
  row.record = held_up(number, std::move(seen));
  row.record.end = kTimeMax;
  row.wall_begin_ns = kWall;
  row.plan_name = "plan " + std::to_string(number);
  return row;
}

TEST(Blockers, AreLiveWhileTheyAreSeen) {
  store::ExecutionRow row =
      running(1, {{{5002, 7}, id_of(2), 101 * kS, 103 * kS}, {{5003, 7}, {}, 101 * kS, 109 * kS}});
  row.plan_name = "evil\x1b[31m";
  const auto now = held_up_lines({row}, kWall + 10 * kS, plain(200));
  ASSERT_EQ(now.size(), 4u);
  EXPECT_EQ(now[2], "  process 5003, which runs no execution that is known");
  EXPECT_THAT(now[3], testing::StartsWith("    010101010101, evil"));
  EXPECT_THAT(now[3], testing::EndsWith(": waits for 8.00 s"));
  EXPECT_EQ(now[3].find('\x1b'), std::string::npos);
  EXPECT_TRUE(held_up_lines({row}, kWall + 60 * kS, plain(200)).empty()) << "not seen any more";
  row.record.end = 110 * kS;
  EXPECT_FALSE(may_be_held_up(row)) << "it ended";
  EXPECT_TRUE(held_up_lines({row}, kWall + 10 * kS, plain(200)).empty());
}

TEST(Blockers, AreLiveAsATree) {
  const auto lines = held_up_lines({running(3, {{{5002, 7}, id_of(2), 106 * kS, 109 * kS}}),
                                    running(2, {{{5001, 7}, id_of(1), 102 * kS, 109 * kS}}),
                                    running(4, {{{5002, 7}, id_of(2), 105 * kS, 109 * kS}})},
                                   kWall + 10 * kS, plain(200));
  const std::vector<std::string> wanted = {"",
                                           "waiting for locks",
                                           "  process 5001, execution 010101010101",
                                           "    020202020202, plan 2: waits for 7.00 s",
                                           "      040404040404, plan 4: waits for 4.00 s",
                                           "      030303030303, plan 3: waits for 3.00 s"};
  EXPECT_EQ(lines, wanted);
}

TEST(Blockers, LiveCirclesAndCrowdsEnd) {
  const auto circle = held_up_lines({running(1, {{{5002, 7}, id_of(2), 101 * kS, 109 * kS}}),
                                     running(2, {{{5001, 7}, id_of(1), 101 * kS, 109 * kS}})},
                                    kWall + 10 * kS, plain(200));
  EXPECT_EQ(circle.size(), 2u + 3) << "one of them as the holder, and both as they wait";
  std::vector<store::ExecutionRow> many;
  for (std::uint8_t i = 10; i < 40; ++i) many.push_back(running(i, {{{5001, 7}, {}, 101 * kS, 109 * kS}}));
  const auto lines = held_up_lines(many, kWall + 10 * kS, plain(40));
  EXPECT_EQ(lines.size(), 13u);
  EXPECT_EQ(lines.back(), "  21 more");
  for (const std::string& line : lines) EXPECT_LE(columns(line), 40u) << line;
}

}  // namespace
}  // namespace tailor::cli
