// Which executions a filter lets pass by how long they took.
#include "daemon/serve/execution_filter.h"

#include <gtest/gtest.h>

#include <memory>

#include "daemon/profile/added_runs.h"
#include "daemon/serve/library.h"
#include "tests/support/added_runs.h"

namespace tailor::serve {
namespace {

constexpr TimeNs kHalfAMinute = 30'000'000'000;

store::ExecutionRow half_a_minute() {
  store::ExecutionRow row;
  row.record.begin = 1000;
  row.record.end = row.record.begin + kHalfAMinute;
  return row;
}

bool took(const store::ExecutionRow& row, std::int64_t least_ns) {
  ExecutionFilter filter;
  filter.min_elapsed_ns = least_ns;
  return passes(filter, row);
}

TEST(ExecutionFilter, AnExecutionTookAsLongAsFromItsBeginToItsEnd) {
  EXPECT_TRUE(took(half_a_minute(), kHalfAMinute));
  EXPECT_FALSE(took(half_a_minute(), kHalfAMinute + 1));
}

TEST(ExecutionFilter, OfRunsThatAreAddedUpTheLongestCounts) {
  store::ExecutionRow sum = half_a_minute();
  sum.record.added = test::thousand_runs();
  EXPECT_TRUE(took(sum, 50'000'000));
  EXPECT_FALSE(took(sum, 50'000'001)) << "the time from the first to the last is no time of a run";
}

// From its begin to its end the record has many runs, and the pauses between them.
TEST(ExecutionFilter, ATimeThatIsUnknownIsLongerThanNone) {
  store::ExecutionRow untold = half_a_minute();
  untold.record.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  ASSERT_TRUE(profile::is_untimed(untold.record));
  EXPECT_FALSE(took(untold, 1));
  EXPECT_FALSE(took(untold, kHalfAMinute));
  EXPECT_TRUE(took(untold, 0)) << "it has ended, and is asked for no time";
  EXPECT_TRUE(passes({}, untold));
  untold.record.added = test::thousand_runs();
  EXPECT_TRUE(took(untold, 50'000'000)) << "its engine has told the times";
}

TEST(ExecutionFilter, AnExecutionThatRunsHasTakenNoTimeYet) {
  store::ExecutionRow running = half_a_minute();
  running.record.end = kTimeMax;
  EXPECT_FALSE(took(running, 0));
  EXPECT_FALSE(took(running, 1));
  EXPECT_TRUE(passes({}, running));
}

// Runs were added up, and none of them has ended.
TEST(ExecutionFilter, OfNoRunThereIsNoTime) {
  store::ExecutionRow none = half_a_minute();
  none.record.added = std::make_shared<const profile::AddedRuns>();
  EXPECT_FALSE(took(none, 1));
}

}  // namespace
}  // namespace tailor::serve
