#include "daemon/process/running_executions.h"

#include <gtest/gtest.h>

namespace tailor::process {
namespace {

TEST(RunningExecutions, OneOfAPlanIsFoundAndTwoAreNot) {
  RunningExecutions runs;
  runs.begin(5, 1, 100);
  runs.begin(6, 2, 100);
  runs.begin(7, 1, 200);
  runs.end(5, 300);
  runs.end(99, 300);
  EXPECT_EQ(runs.sole(1, 99), 0u);
  EXPECT_EQ(runs.sole(1, 150), 5u);
  EXPECT_EQ(runs.sole(1, 250), 0u);
  EXPECT_EQ(runs.sole(1, 300), 7u);
  EXPECT_EQ(runs.sole(2, 150), 6u);
  EXPECT_EQ(runs.sole(3, 150), 0u);
  runs.trim(250);
  EXPECT_EQ(runs.sole(1, 250), 0u) << "one that ended after the watermark stays";
  runs.trim(300);
  runs.end_all(400);
  EXPECT_EQ(runs.sole(1, 399), 7u);
  EXPECT_EQ(runs.sole(1, 400), 0u);
}

}  // namespace
}  // namespace tailor::process
