// Which runs of a query are added up.
#include "daemon/serve/query_runs.h"

#include <gtest/gtest.h>

#include "tests/support/added_runs.h"

namespace tailor::serve {
namespace {

store::ExecutionRow run_of(store::RecordingNumber recording, std::uint64_t began_ns, std::uint64_t samples) {
  store::ExecutionRow row;
  row.recording = recording;
  row.wall_begin_ns = began_ns;
  row.cost.samples = samples;
  return row;
}

TEST(QueryRuns, AllRunsCountWithSamplesOrWithout) {
  QueryRuns runs;
  for (std::uint64_t i = 0; i < 320; ++i) runs.add(run_of(1, 1000 - i, i % 100 == 7 ? 1 : 0));
  EXPECT_EQ(runs.taken(), 320u);
  EXPECT_EQ(runs.sampled(), 4u);
  EXPECT_EQ(runs.left_out(), 0u);
  ExecutionFilter filter;
  filter.fingerprint = "ab";
  const Target target = runs.target(filter);
  EXPECT_EQ(target.what, Target::What::kFiltered);
  EXPECT_EQ(target.count, 320u);
  EXPECT_EQ(target.filter.fingerprint, "ab");
  EXPECT_EQ(target.filter.since_ns, 681u);
  EXPECT_EQ(target.filter.until_ns, 1001u);
}

TEST(QueryRuns, OlderOnesAreLeftOutOnceThereAreEnoughSamples) {
  QueryRuns runs;
  for (std::uint64_t i = 0; i < 10; ++i) runs.add(run_of(1, 1000 - i, QueryRuns::kEnoughSamples / 4));
  EXPECT_EQ(runs.taken(), 4u);
  EXPECT_EQ(runs.left_out(), 6u);
  EXPECT_EQ(runs.target({}).filter.since_ns, 997u);
}

TEST(QueryRuns, RunsThatAreAddedUpCountEachAndAreOneRow) {
  QueryRuns runs;
  store::ExecutionRow sum = run_of(1, 1000, QueryRuns::kEnoughSamples);
  sum.record.added = test::thousand_runs();
  runs.add(sum);
  sum.wall_begin_ns = 900;
  runs.add(sum);
  EXPECT_EQ(runs.taken(), 1u);
  EXPECT_EQ(runs.executions(), 1000u);
  EXPECT_EQ(runs.left_out(), 1000u);
  EXPECT_EQ(runs.target({}).count, 1u);
}

// The daemon was started anew in between.
TEST(QueryRuns, RunsOfAllRecordingsCount) {
  QueryRuns runs;
  for (std::uint64_t i = 0; i < 3; ++i) runs.add(run_of(2, 1000 - i, 0));
  for (std::uint64_t i = 0; i < 5; ++i) runs.add(run_of(1, 900 - i, i == 1 ? 2 : 0));
  EXPECT_EQ(runs.taken(), 8u);
  EXPECT_EQ(runs.sampled(), 1u);
  EXPECT_EQ(runs.left_out(), 0u);
  EXPECT_EQ(runs.target({}).filter.until_ns, 1001u);
  EXPECT_EQ(runs.target({}).filter.since_ns, 896u);
}

}  // namespace
}  // namespace tailor::serve
