#include "daemon/query/reports/executions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr TimeNs kSecond = 1'000'000'000, kBetween = 10 * kSecond;
constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr ExecutionHandle kFirst = 10, kRuns = 10;
constexpr std::uint64_t kSamplesOfRun = 3;

// A segment for each run, and samples in each.
class ExecutionsOfStoreTest : public testing::Test {
 protected:
  ExecutionsOfStoreTest() {
    std::filesystem::remove_all(directory_);
    store::StoreOptions options;
    options.segment_time = kBetween;
    options.keep_bytes = options.keep_ns = 0;
    auto writer = store::StoreWriter::open(directory_, options, kWall);
    EXPECT_TRUE(writer);
    test::give_context(**writer);
    (*writer)->on_watermark(test::kSampleStart);
    for (ExecutionHandle run = 0; run < kRuns; ++run) write_run(**writer, run);
    EXPECT_TRUE((*writer)->finish());
  }
  ~ExecutionsOfStoreTest() override { std::filesystem::remove_all(directory_); }

  static void write_run(profile::ProfileSink& out, ExecutionHandle run) {
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.handle = kFirst + run;
    execution.id.bytes.fill(static_cast<std::uint8_t>(1 + run));
    execution.plan = test::kSamplePlan;
    execution.begin = execution.heard = test::kSampleStart + static_cast<TimeNs>(run) * kBetween + kSecond;
    out.on_execution(execution);
    std::vector<profile::SampleRecord> samples;
    for (std::uint64_t i = 1; i <= kSamplesOfRun; ++i) {
      samples.push_back(test::tag_sample(execution.begin + static_cast<TimeNs>(i) * kSecond, 5));
      samples.back().attribution.execution = execution.handle;
    }
    out.on_samples(samples);
    execution.end = samples.back().time + 1;
    out.on_execution(execution);
    out.on_watermark(test::kSampleStart + static_cast<TimeNs>(run + 1) * kBetween);
  }

  store::Catalogue catalogue() const {
    auto opened = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  const std::string directory_ =
      testing::TempDir() + "/executions_of_store_test." + std::to_string(::getpid());
};

TEST_F(ExecutionsOfStoreTest, WhatRanBetweenThemIsNotRead) {
  const store::Catalogue known = catalogue();
  const std::set<ExecutionHandle> wanted = {kFirst, kFirst + kRuns - 1};
  std::vector<store::ExecutionRow> rows;
  ASSERT_TRUE(known.visit_executions({}, [&](store::ExecutionRow row) {
    if (wanted.contains(row.record.handle)) rows.push_back(std::move(row));
    return true;
  }));
  ASSERT_EQ(rows.size(), wanted.size());
  const auto loaded = load_executions(directory_, known, rows);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->selection.executions.size(), wanted.size());
  const auto report = plan_report(loaded->profile, loaded->selection);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.samples, wanted.size() * kSamplesOfRun);
  for (const profile::ExecutionRecord& each : loaded->profile.executions()) {
    EXPECT_FALSE(wanted.contains(each.handle) && each.end == kTimeMax) << each.handle << " ended";
  }
  // Of each its own segment and those beside it, which may tell when it began and ended.
  EXPECT_LE(loaded->profile.read_report().samples, 3 * wanted.size() * kSamplesOfRun);
  // The twin: the store has more than that, between them.
  const auto whole = Profile::load_store(directory_, known, rows.front().recording);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->read_report().samples, kRuns * kSamplesOfRun);
}

}  // namespace
}  // namespace tailor::query
