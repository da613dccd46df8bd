// What an engine says of runs that it added up.
#include "daemon/profile/added_runs.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/support/added_runs.h"

namespace tailor::profile {
namespace {

v1::AddedRuns message() {
  v1::AddedRuns out;
  encode_added_runs(*test::thousand_runs(), out);
  return out;
}

TEST(AddedRuns, ComeBack) {
  const auto back = decode_added_runs(message());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, *test::thousand_runs());
  EXPECT_EQ(message().bucket(0), 144u);
  EXPECT_EQ(message().bucket(1), 41u) << "the difference to the one before";
}

TEST(AddedRuns, NoRunIsNone) {
  const auto none = decode_added_runs({});
  ASSERT_TRUE(none) << none.error().message;
  ExecutionRecord record;
  record.end = 30'000'000'000;
  record.added = std::make_shared<const AddedRuns>(*none);
  EXPECT_EQ(runs_of(record), 0u);
  EXPECT_EQ(run_times_of(record).longest, 0u);
}

TEST(AddedRuns, WhatCannotBeIsRefused) {
  const std::vector<std::function<void(v1::AddedRuns&)>> lies = {
      [](v1::AddedRuns& runs) { runs.set_runs(1001); },
      [](v1::AddedRuns& runs) { runs.set_runs(0); },
      [](v1::AddedRuns& runs) { runs.set_failed(1001); },
      [](v1::AddedRuns& runs) { runs.set_elapsed_min(50'000'001); },
      [](v1::AddedRuns& runs) { runs.set_elapsed_sum(49'999'999); },
      [](v1::AddedRuns& runs) { runs.set_elapsed_sum(999 * 1'000'000 + 50'000'000 - 1); },
      [](v1::AddedRuns& runs) { runs.set_elapsed_sum(999 * 50'000'000ull + 1'000'000 + 1); },
      [](v1::AddedRuns& runs) { runs.set_bucket(1, 0); },
      [](v1::AddedRuns& runs) { runs.set_bucket(1, 470 - 144); },
      [](v1::AddedRuns& runs) { runs.set_bucket(1, UINT32_MAX); },
      [](v1::AddedRuns& runs) { runs.set_bucket_runs(1, 0); },
      [](v1::AddedRuns& runs) { runs.set_bucket_runs(1, 11); },
      [](v1::AddedRuns& runs) { runs.set_bucket_runs(1, 9); },
      [](v1::AddedRuns& runs) { runs.set_bucket_runs(1, UINT64_MAX); },
      [](v1::AddedRuns& runs) { runs.add_bucket(1); },
      [](v1::AddedRuns& runs) { runs.clear_bucket(); },
      [](v1::AddedRuns& runs) {
        for (int i = 0; i < 1000; ++i) {
          runs.add_bucket(1);
          runs.add_bucket_runs(1);
        }
      }};
  for (std::size_t i = 0; i < lies.size(); ++i) {
    v1::AddedRuns runs = message();
    lies[i](runs);
    EXPECT_FALSE(decode_added_runs(runs)) << "lie " << i;
  }
  v1::AddedRuns last = message();
  last.set_bucket(1, 469 - 144);
  EXPECT_TRUE(decode_added_runs(last)) << "the last bucket";
}

TEST(AddedRuns, WithoutThemAnExecutionIsOneRun) {
  ExecutionRecord record;
  record.begin = 100;
  EXPECT_EQ(runs_of(record), 1u);
  EXPECT_EQ(run_times_of(record).longest, 0u) << "it runs";
  record.end = 150;
  record.error = "cancelled";
  EXPECT_EQ(failed_runs_of(record), 1u);
  EXPECT_EQ(run_times_of(record).sum, 50u);
  EXPECT_FALSE(adds_up_runs(record));
  record.labels = {{"runs", "7"}};
  EXPECT_FALSE(adds_up_runs(record)) << "a label of the engine's own";
  record.labels = {{"runs", "short runs of this plan, added up"}};
  EXPECT_TRUE(adds_up_runs(record));
  EXPECT_TRUE(is_untimed(record));
  EXPECT_EQ(runs_of(record), 1u);
  EXPECT_EQ(failed_runs_of(record), 1u);
  EXPECT_EQ(run_times_of(record).longest, 0u) << "its span is of many runs";
  record.end = kTimeMax;
  EXPECT_FALSE(is_untimed(record)) << "it runs";
  record.end = 150;
  record.labels.clear();
  EXPECT_FALSE(is_untimed(record));
  record.added = test::thousand_runs();
  EXPECT_TRUE(adds_up_runs(record));
  EXPECT_FALSE(is_untimed(record));
  EXPECT_EQ(runs_of(record), 1000u);
  EXPECT_EQ(failed_runs_of(record), 3u);
  EXPECT_EQ(run_times_of(record).longest, 50'000'000u);
}

}  // namespace
}  // namespace tailor::profile
