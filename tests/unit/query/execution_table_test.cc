#include "daemon/query/execution_table.h"

#include <gtest/gtest.h>

#include <random>

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
