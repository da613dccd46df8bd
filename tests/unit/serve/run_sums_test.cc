// What one execution adds to the sums of its hour.
#include "daemon/serve/run_sums.h"

#include <gtest/gtest.h>

#include "daemon/profile/added_runs.h"
#include "daemon/serve/sums_json.h"

namespace tailor::serve {
namespace {

profile::ExecutionRecord ended_after(TimeNs elapsed) {
  profile::ExecutionRecord record;
  record.begin = 100;
  record.end = record.begin + elapsed;
  return record;
}

// An old agent told half a minute of them, and how many runs these were nobody knows.
profile::ExecutionRecord runs_of_unknown_number() {
  profile::ExecutionRecord record = ended_after(30'000'000'000);
  record.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  record.error = "cancelled";
  return record;
}

TEST(RunSums, RunsOfUnknownNumberAreOneExecutionInNoTime) {
  const store::RunSum sum = run_sum_of(runs_of_unknown_number());
  EXPECT_EQ(sum.executions, 1u);
  EXPECT_EQ(sum.failed, 1u);
  EXPECT_EQ(sum.untimed, 1u);
  EXPECT_EQ(sum.timed(), 0u);
  EXPECT_EQ(sum.sampled(), 1u);
  EXPECT_EQ(sum.elapsed_sum, 0u);
  EXPECT_EQ(sum.elapsed.count(), 0u);
  const query::Json json = elapsed_json(sum);
  EXPECT_EQ(json["unknown"], 1);
  EXPECT_EQ(json["min"], 0);
  EXPECT_TRUE(json["p50"].is_null());
}

TEST(RunSums, OfBothTheTimesAreThoseThatAreKnown) {
  store::RunSum sum = run_sum_of(runs_of_unknown_number());
  store::add(sum, run_sum_of(ended_after(200)));
  EXPECT_EQ(sum.executions, 2u);
  const query::Json json = elapsed_json(sum);
  EXPECT_EQ(json["unknown"], 1);
  EXPECT_EQ(json["min"], 200);
  EXPECT_EQ(json["mean"], 200.0);
  EXPECT_EQ(json["max"], 200);
  EXPECT_EQ(json["p95"], 200.0);
  EXPECT_FALSE(elapsed_json(run_sum_of(ended_after(200))).contains("unknown"));
}

TEST(RunSums, AnExecutionThatIsNotDrawnHasATimeAndNoCost) {
  profile::ExecutionRecord record = ended_after(200);
  record.drawn = false;
  const store::RunSum sum = run_sum_of(record);
  EXPECT_EQ(sum.timed(), 1u);
  EXPECT_EQ(sum.sampled(), 0u);
  store::RunSum both = run_sum_of(runs_of_unknown_number());
  store::add(both, sum);
  EXPECT_EQ(both.timed(), 1u);
  EXPECT_EQ(both.sampled(), 1u);
}

}  // namespace
}  // namespace tailor::serve
