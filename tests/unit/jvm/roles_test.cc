// Which operators of Spark without generated code a piece of code works for.
#include "agent/jvm/roles.h"

#include <gtest/gtest.h>

#include "agent/jvm/running_roles.h"

namespace tailor::jvm {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Roles, AClassSaysWhatItsCodeDoes) {
  EXPECT_EQ(role_of_class("org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter"), kShuffleWrite);
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.exchange.ShuffleExchangeExec$"), kShuffleWrite);
  EXPECT_EQ(role_of_class("org.apache.spark.storage.ShuffleBlockFetcherIterator"), kShuffleRead);
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.window.WindowExec$$anon$1"), "WindowExec");
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.window.SlidingWindowFunctionFrame"), "");
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.aggregate.ObjectAggregationIterator"),
            "ObjectHashAggregateExec");
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.joins.BroadcastNestedLoopJoinExec"),
            "BroadcastNestedLoopJoinExec");
}

TEST(Roles, OtherClassesWorkForTheirCallers) {
  EXPECT_EQ(role_of_class(""), "");
  EXPECT_EQ(role_of_class("java.util.HashMap"), "");
  EXPECT_EQ(role_of_class("com.example.org.apache.spark.sql.execution.WindowExec"), "");
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.UnsafeExternalRowSorter"), "");
  EXPECT_EQ(role_of_class("org.apache.spark.sql.execution.WholeStageCodegenExec$$anon$1"), "");
}

TEST(RunningRoles, TheStagesThatRunSayWhichOperatorsItCanBe) {
  RunningRoles roles;
  roles.set(1, 7, "WindowExec", {5, 3, 5});
  roles.set(1, 8, "WindowExec", {4});
  EXPECT_EQ(roles.now().query, 0u) << "nothing runs";
  roles.begin(1, 7);
  EXPECT_EQ(roles.now().query, 1u);
  EXPECT_EQ(roles.now().roles["WindowExec"], (Numbers{3, 5}));
  roles.begin(1, 8);
  EXPECT_EQ(roles.now().roles["WindowExec"], (Numbers{3, 4, 5}));
  roles.end(1, 7);
  EXPECT_EQ(roles.now().roles["WindowExec"], (Numbers{4}));
}

TEST(RunningRoles, WhereOneStageLeavesItToTheCallersAllDo) {
  RunningRoles roles;
  roles.set(1, 7, "shuffle read", {2});
  roles.set(1, 8, "shuffle read", {});
  roles.begin(1, 7);
  EXPECT_EQ(roles.now().roles["shuffle read"], (Numbers{2}));
  roles.begin(1, 8);
  EXPECT_FALSE(roles.now().roles.contains("shuffle read"));
}

TEST(RunningRoles, TasksOfSeveralQueriesHideEachOther) {
  RunningRoles roles;
  roles.set(1, 7, "WindowExec", {3});
  roles.begin(1, 7);
  roles.begin(2, 9);
  EXPECT_EQ(roles.now().query, 0u);
  roles.end(2, 9);
  EXPECT_EQ(roles.now().query, 1u);
  roles.begin(0, 11);
  EXPECT_EQ(roles.now().query, 0u) << "a task that works for no query can run the same code";
}

TEST(RunningRoles, EndsThatFitNothingAreIgnored) {
  RunningRoles roles;
  roles.end(1, 7);
  roles.begin(1, 7);
  roles.begin(1, 7);
  roles.end(1, 7);
  EXPECT_EQ(roles.now().query, 1u);
  roles.set(1, 7, "WindowExec", {3});
  roles.forget(1);
  EXPECT_TRUE(roles.now().roles.empty());
}

}  // namespace
}  // namespace tailor::jvm
