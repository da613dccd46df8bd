#include "daemon/query/load/execution_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "daemon/profile/blockers.h"
#include "tests/support/added_runs.h"

namespace tailor::query {
namespace {

profile::ExecutionRecord execution(std::int32_t pid, ExecutionHandle handle, TimeNs begin) {
  profile::ExecutionRecord record;
  record.process = {pid, 7};
  record.handle = handle;
  record.plan = handle % 5;
  record.begin = begin;
  record.id.bytes[0] = static_cast<std::uint8_t>(handle);
  return record;
}

TEST(ExecutionTable, TheLastWordOnEachCountsAndTheyAreInTheOrderOfTheirBegin) {
  ExecutionTable table;
  table.add(execution(2, 1, 300));
  table.add(execution(1, 1, 100));
  table.add(execution(1, 9, 200));
  profile::ExecutionRecord ended = execution(2, 1, 300);
  ended.end = 400;
  ended.rows = 17;
  ended.rows_known = false;
  ended.error = "cancelled";
  ended.labels = {{"user", "u"}, {"query", "q"}};
  table.add(ended);
  table.sort();
  ASSERT_EQ(table.size(), 3u);
  std::vector<TimeNs> begins;
  for (const profile::ExecutionRecord& each : table) begins.push_back(each.begin);
  EXPECT_EQ(begins, (std::vector<TimeNs>{100, 200, 300}));
  EXPECT_EQ(table.rbegin()->begin, 300);
  const profile::ExecutionRecord* found = table.find({2, 7}, 1);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, table.find({2, 7}, 1)) << "it stays where it is";
  EXPECT_EQ(found->end, 400);
  EXPECT_EQ(found->rows, 17u);
  EXPECT_FALSE(found->rows_known);
  EXPECT_TRUE(table[0].rows_known);
  EXPECT_EQ(found->error, "cancelled");
  EXPECT_EQ(found->labels, ended.labels);
  EXPECT_EQ(found->id, ended.id);
  EXPECT_EQ(table[0].end, kTimeMax);
  EXPECT_EQ(table.find({2, 7}, 9), nullptr);
  EXPECT_EQ(table.find({3, 7}, 1), nullptr);
  EXPECT_EQ(table.plan_of({1, 7}, 9), 4u);
  EXPECT_EQ(table.plan_of({1, 7}, 8), std::nullopt);
}

TEST(ExecutionTable, RunsThatAreAddedUpStayWithTheirExecution) {
  ExecutionTable table;
  profile::ExecutionRecord sum = execution(2, 1, 300), other = execution(1, 1, 100);
  table.add(sum);
  table.add(other);
  sum.end = 900;
  sum.added = test::thousand_runs();
  table.add(sum);
  table.sort();
  EXPECT_EQ(table[0].added, nullptr);
  EXPECT_EQ(table[1].added, sum.added);
  EXPECT_EQ(table.find({2, 7}, 1)->added, sum.added);
  sum.added = nullptr;
  table.add(sum);
  EXPECT_EQ(table[1].added, nullptr) << "the last word counts";
}

// Of each what a record says, and the sums of runs with their own execution.
TEST(ExecutionTable, AVisitSaysWhatTheRecordsSay) {
  ExecutionTable table;
  profile::ExecutionRecord sum = execution(1, 2, 300), not_drawn = execution(3, 4, 50);
  sum.added = test::thousand_runs();
  not_drawn.drawn = false;
  table.add(execution(2, 1, 400));
  table.add(sum);
  table.add(execution(1, 3, 200));
  table.add(not_drawn);
  table.sort();
  std::size_t visited = 0;
  table.visit([&](const ExecutionTable::Brief& each) {
    ++visited;
    const profile::ExecutionRecord* record = table.find(each.process, each.handle);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(each.plan, record->plan);
    EXPECT_EQ(each.drawn, record->drawn);
    EXPECT_EQ(each.runs, profile::runs_of(*record)) << each.handle;
  });
  EXPECT_EQ(visited, table.size());
}

TEST(ExecutionTable, BlockersStayWithTheirExecution) {
  ExecutionTable table;
  profile::ExecutionRecord held_up = execution(2, 1, 300);
  table.add(execution(1, 1, 100));
  table.add(held_up);
  held_up.end = 900;
  auto blockers = std::make_shared<profile::Blockers>();
  blockers->seen = {{{5, 6}, {}, 400, 500}};
  held_up.blockers = blockers;
  const std::size_t before = table.bytes();
  table.add(held_up);
  EXPECT_GT(table.bytes(), before);
  table.sort();
  EXPECT_EQ(table[0].blockers, nullptr);
  EXPECT_EQ(table[1].blockers, blockers);
}

// Handles that one multiplication sends to one place do not meet here.
TEST(ExecutionTable, HandlesCannotBeChosenToMeet) {
  constexpr std::uint64_t kInverse = 0xF1DE83E19937733D;  // of 0x9E3779B97F4A7C15
  static_assert(kInverse * 0x9E3779B97F4A7C15 == 1);
  constexpr std::size_t kSlots = 1 << 16, kHandles = 1 << 15;
  std::map<std::uint64_t, std::size_t> at;
  for (std::uint64_t i = 0; i < kHandles; ++i)
    ++at[ExecutionTable::hash(0x1234'5678'9ABC'DEF0, 0, i * kInverse) % kSlots];
  std::size_t most = 0;
  for (const auto& [slot, handles] : at) most = std::max(most, handles);
  EXPECT_LT(most, 16u);
  EXPECT_NE(ExecutionTable::hash(1, 0, 7), ExecutionTable::hash(2, 0, 7));
}

TEST(ExecutionTable, OfAnIdentityEachUserHasTheOneThatWasHeardOfFirst) {
  ExecutionTable table;
  profile::ExecutionRecord own = execution(2, 1, 300), later = execution(3, 1, 100),
                           other = execution(1, 1, 50);
  own.uid = later.uid = 1001;
  other.uid = 1002;
  own.heard = 10;
  later.heard = 20;
  other.heard = 5;
  for (const auto& each : {later, own, other}) table.add(each);
  table.sort();
  const auto found = table.with_ids({own.id});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at({own.id, 1001}).process.pid, 2);
  EXPECT_EQ(found.at({own.id, 1002}).process.pid, 1);
}

TEST(ExecutionTable, AHundredThousandAreFoundAgainAndTakeAHundredBytesEach) {
  ExecutionTable table;
  std::mt19937_64 random(3);
  std::vector<ExecutionHandle> handles;
  for (int i = 0; i < 100'000; ++i) {
    handles.push_back(random() % 2 == 0 ? static_cast<ExecutionHandle>(i) << 32 : random());
    table.add(execution(1, handles.back(), i));
    table.add(execution(1, handles.back(), i));
  }
  table.sort();
  EXPECT_LE(table.size(), 100'000u);
  EXPECT_LT(table.bytes(), 100u * 100'000);
  for (std::size_t i = 0; i < handles.size(); i += 97) {
    EXPECT_EQ(table.plan_of({1, 7}, handles[i]), handles[i] % 5);
  }
}

}  // namespace
}  // namespace tailor::query
