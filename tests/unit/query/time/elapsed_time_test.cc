#include "daemon/query/time/elapsed_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/query/json/report_json.h"
#include "daemon/query/load/added_runs.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/cost_columns.h"
#include "daemon/query/reports/flame.h"
#include "daemon/query/reports/plan_report.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::query {
namespace {

using testing::HasSubstr;

constexpr TimeNs kMs = 1'000'000;
constexpr std::int32_t kThread = 4243;

// IR components of the sample plan, and the operators that own them.
constexpr std::uint32_t kIrOfScan = 1, kIrOfGroup = 6, kIrOfOther = 4;
constexpr ComponentId kScan = 4, kGroup = 1, kOther = 5;

struct Feed {
  ProfileLoader loader{[] {
    LoadOptions options;
    options.keep_samples = true;
    return options;
  }()};
  Feed() { test::give_context(loader); }

  // From 0 to `ms`.
  void execution(ExecutionHandle handle, TimeNs ms, bool drawn = true) {
    profile::ExecutionRecord record;
    record.process = test::kSampleProcess;
    record.handle = handle;
    record.id.bytes.fill(static_cast<std::uint8_t>(handle));
    record.plan = test::kSamplePlan;
    record.begin = test::kSampleStart;
    record.end = test::kSampleStart + ms * kMs;
    record.drawn = drawn;
    loader.on_execution(record);
  }
  // A thread that works from one ms to another, with a sample at the end of each ms.
  void work(std::int32_t tid, TimeNs from_ms, TimeNs to_ms, std::uint32_t ir,
            ExecutionHandle handle = test::kSampleExecution) {
    for (TimeNs ms = from_ms + 1; ms <= to_ms; ++ms) {
      profile::SampleRecord record = test::ir_sample(test::kSampleStart + ms * kMs, ir);
      record.tid = tid;
      record.attribution.execution = handle;
      loader.on_samples({&record, 1});
    }
  }
};

// 100 ms: the scan alone for 20 ms, with the group-by for 20, with both others for 20, then the other scan
// alone for 20, and nothing for 20.
Feed three_threads() {
  Feed feed;
  feed.execution(test::kSampleExecution, 100);
  feed.work(kThread, 0, 60, kIrOfScan);
  feed.work(kThread + 1, 20, 60, kIrOfGroup);
  feed.work(kThread + 2, 40, 80, kIrOfOther);
  return feed;
}

const Share95& cost_of(const PlanReport& report, ComponentId id) {
  for (const OperatorRow& row : report.plans.at(0).operators) {
    if (row.id == id) return row.cost;
  }
  throw std::runtime_error("no such operator");
}

TEST(ElapsedTime, OperatorsHaveWhatWasComputedByHand) {
  const Profile profile = three_threads().loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_EQ(time->sum.executions, 1u);
  EXPECT_DOUBLE_EQ(time->sum.elapsed_ns, 100e6);
  EXPECT_DOUBLE_EQ(time->sum.worked_ns, 80e6);
  EXPECT_DOUBLE_EQ(time->sum.idle_ns(), 20e6);
  EXPECT_DOUBLE_EQ(time->sum.cpu_ns, 140e6);
  const auto report = plan_report(*time);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NEAR(cost_of(*report, kScan).share, (20 + 10 + 20.0 / 3) / 100, 1e-9);
  EXPECT_NEAR(cost_of(*report, kGroup).share, (10 + 20.0 / 3) / 100, 1e-9);
  EXPECT_NEAR(cost_of(*report, kOther).share, (20.0 / 3 + 20) / 100, 1e-9);
  EXPECT_NEAR(*threads_of(cost_of(*report, kScan).amount), 60 / (20 + 10 + 20.0 / 3), 1e-9);
  EXPECT_NEAR(*threads_of(cost_of(*report, kGroup).amount), 40 / (10 + 20.0 / 3), 1e-9);
  EXPECT_NEAR(*threads_of(report->all.amount), 140.0 / 80, 1e-9);
  EXPECT_FALSE(threads_of(cost_of(*report, 3).amount)) << "it has no sample";
  // The operators and the time without work are everything.
  EXPECT_NEAR(report->operators.share + 0.2, 1, 1e-9);
  EXPECT_DOUBLE_EQ(report->total.weight, 100e6);
  for (const ComponentId id : {kScan, kGroup, kOther}) {
    const Share95& cost = cost_of(*report, id);
    EXPECT_LT(cost.interval.low, cost.share);
    EXPECT_GT(cost.interval.high, cost.share);
    EXPECT_LE(cost.interval.high, 0.8) << "the time without work is nobody's";
  }
}

// The twin that must not pass: shares of CPU time.
TEST(ElapsedTime, SharesOfCpuTimeWouldBeSeen) {
  const Profile profile = three_threads().loader.finish();
  const auto report = plan_report(profile, {});
  ASSERT_TRUE(report);
  EXPECT_NEAR(cost_of(*report, kScan).share, 60.0 / 140, 1e-9);
  EXPECT_FALSE(report->elapsed);
  EXPECT_FALSE(threads_of(cost_of(*report, kScan).amount));
}

TEST(ElapsedTime, JsonSaysIt) {
  const Profile profile = three_threads().loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time);
  const Json json = json_of(time->profile, *plan_report(*time));
  EXPECT_EQ(json["elapsed"]["executions"], 1);
  EXPECT_DOUBLE_EQ(json["elapsed"]["idle_share"], 0.2);
  EXPECT_DOUBLE_EQ(json["elapsed"]["ns"], 100e6);
  EXPECT_DOUBLE_EQ(json["weight"], 100e6);
  EXPECT_DOUBLE_EQ(json["all"]["cpu_ns"], 140e6);
  EXPECT_NEAR(json["plans"][0]["operators"][0]["threads"].get<double>(), 2.4, 1e-9);
  const Json of_cpu = json_of(profile, *plan_report(profile, {}));
  EXPECT_FALSE(of_cpu.contains("elapsed"));
  EXPECT_FALSE(of_cpu["all"].contains("threads"));
}

TEST(ElapsedTime, LevelsHaveIt) {
  const Profile profile = three_threads().loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time);
  const auto report = level_report(*time, "task");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->plans.at(0).rows.at(0).name, "scan orders");
  EXPECT_NEAR(report->plans.at(0).rows.at(0).cost.share, (20 + 10 + 20.0 / 3) / 100, 1e-9);
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(ElapsedTime, OperatorsHaveTheSkewOfTheirThreads) {
  Feed feed;
  feed.execution(test::kSampleExecution, 200);
  feed.work(kThread, 0, 150, kIrOfScan);
  feed.work(kThread + 1, 0, 50, kIrOfScan);
  feed.work(kThread + 2, 0, 200, kIrOfGroup);
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  const auto report = plan_report(*time);
  ASSERT_TRUE(report);
  const auto& skew = cost_of(*report, kScan).skew;
  ASSERT_TRUE(skew);
  EXPECT_NEAR(skew->value(), 1.5, 1e-9);
  EXPECT_GT(skew->low(), 1);
  EXPECT_FALSE(cost_of(*report, kGroup).skew) << "one thread did it";
  EXPECT_FALSE(cost_of(*plan_report(profile, {}), kScan).skew) << "of elapsed time alone";
  const auto level = level_report(*time, "task");
  ASSERT_TRUE(level);
  for (const ComponentRow& row : level->plans.at(0).rows)
    EXPECT_EQ(row.cost.skew.has_value(), row.name == "scan orders") << row.name;
  const Json json = json_of(time->profile, *report);
  int with_skew = 0;
  for (const Json& row : json["plans"][0]["operators"]) {
    if (!row.contains("skew")) continue;
    ++with_skew;
    EXPECT_NEAR(row["skew"].get<double>(), 1.5, 1e-9);
    EXPECT_GT(row["skew_low"].get<double>(), 1);
  }
  EXPECT_EQ(with_skew, 1);
}

TEST(ElapsedTime, JsonHasTheColumnsThatACostHas) {
  Feed feed;
  feed.execution(test::kSampleExecution, 200);
  feed.work(kThread, 0, 150, kIrOfScan);
  feed.work(kThread + 1, 0, 50, kIrOfScan);
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  std::vector<std::string> every, of_all;
  for (const CostColumn& column : cost_columns()) {
    every.emplace_back(column.key);
    if (column.of == CostColumn::Of::kAll) of_all.emplace_back(column.key);
  }
  EXPECT_EQ(keys_of(cost_json(cost_of(*plan_report(*time), kScan))), every);
  EXPECT_EQ(keys_of(cost_json(cost_of(*plan_report(profile, {}), kScan))), of_all);
}

TEST(ElapsedTime, FlamesHaveIt) {
  const Profile profile = three_threads().loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time);
  const auto flame = flame_report(*time, {FlameLevel::kOperator});
  ASSERT_TRUE(flame) << flame.error().message;
  EXPECT_TRUE(flame->elapsed);
  EXPECT_NEAR(flame->root.weight, 100e6, 1e-3);
  double sum = 0, before = flame->root.weight;
  std::map<std::string, double> weights;
  for (const FlameNode& node : flame->root.children) {
    EXPECT_LE(node.weight, before) << "the most expensive first";
    before = node.weight;
    sum += node.weight;
    weights[node.kind] += node.weight;
  }
  EXPECT_NEAR(sum, 100e6, 1e-3);
  EXPECT_NEAR(weights["idle"], 20e6, 1e-3);
  EXPECT_NEAR(weights["operator"], 80e6, 1e-3);
  EXPECT_FALSE(flame_report(profile, {}, {FlameLevel::kOperator})->elapsed);
}

TEST(ElapsedTime, APartOfTheTimeIsJudgedAlone) {
  const Profile profile = three_threads().loader.finish();
  const auto time = elapsed_time(profile, {}, test::kSampleStart + 20 * kMs, test::kSampleStart + 40 * kMs);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_DOUBLE_EQ(time->sum.elapsed_ns, 20e6);
  EXPECT_DOUBLE_EQ(time->sum.idle_ns(), 0);
  const auto report = plan_report(*time);
  ASSERT_TRUE(report);
  EXPECT_NEAR(cost_of(*report, kScan).share, 0.5, 1e-9);
  EXPECT_NEAR(cost_of(*report, kGroup).share, 0.5, 1e-9);
}

TEST(ElapsedTime, ShortExecutionsAreLeftOutAndCounted) {
  Feed feed = three_threads();
  feed.execution(50, 19);
  feed.work(kThread + 3, 0, 19, kIrOfGroup, 50);
  feed.execution(51, 20);
  feed.work(kThread + 3, 0, 20, kIrOfGroup, 51);
  feed.execution(52, 500, false);
  feed.work(kThread + 4, 0, 3, kIrOfGroup, 0);
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_EQ(time->sum.executions, 2u);
  EXPECT_EQ(time->sum.too_short, 1u);
  EXPECT_EQ(time->sum.not_drawn, 1u);
  EXPECT_EQ(time->sum.outside.samples, 3u);
  EXPECT_DOUBLE_EQ(time->sum.elapsed_ns, 120e6);
  EXPECT_DOUBLE_EQ(time->sum.worked_ns, 100e6);
  const auto report = plan_report(*time);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->total.samples, 160u);

  const auto none = elapsed_time(profile, {.executions = {{test::kSampleProcess, 50}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("as long as 20 samples' time"));
}

// Between short runs that an engine added up, nobody waited for any of them.
TEST(ElapsedTime, RunsThatAreAddedUpAreLeftOutAndCounted) {
  Feed feed = three_threads();
  profile::ExecutionRecord sum;
  sum.process = test::kSampleProcess;
  sum.handle = 50;
  sum.id.bytes.fill(50);
  sum.plan = test::kSamplePlan;
  sum.begin = test::kSampleStart;
  sum.end = test::kSampleStart + 5000 * kMs;
  sum.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  feed.loader.on_execution(sum);
  feed.work(kThread + 3, 0, 30, kIrOfGroup, 50);
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_EQ(time->sum.executions, 1u);
  EXPECT_EQ(time->sum.added_up, 1u);
  EXPECT_EQ(time->sum.outside.samples, 0u);
  EXPECT_DOUBLE_EQ(time->sum.elapsed_ns, 100e6);
  EXPECT_EQ(json_of(time->profile, *plan_report(*time))["elapsed"]["added_up"], 1);
  const auto none = elapsed_time(profile, {.executions = {{test::kSampleProcess, 50}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("many short runs"));
}

TEST(ElapsedTime, AnExecutionWithoutWorkIsIdle) {
  Feed feed = three_threads();
  feed.execution(50, 300);
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time);
  EXPECT_EQ(time->sum.executions, 2u);
  EXPECT_DOUBLE_EQ(time->sum.idle_ns(), 320e6);
}

TEST(ElapsedTime, WorkersArePartOfTheirLeader) {
  Feed feed;
  feed.execution(test::kSampleExecution, 40);
  feed.work(kThread, 0, 40, kIrOfScan);
  std::string leader;
  for (int i = 0; i < 16; ++i) leader += "03";
  test::give_worker(feed.loader, leader);
  // The same number of a thread, in another process.
  for (TimeNs ms = 21; ms <= 40; ++ms) {
    profile::SampleRecord record = test::tag_sample(test::kSampleStart + ms * kMs, 6);
    record.process = test::kWorkerProcess;
    record.tid = kThread;
    record.attribution.execution = test::kWorkerExecution;
    feed.loader.on_samples({&record, 1});
  }
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_EQ(time->sum.executions, 1u);
  const auto report = plan_report(*time);
  ASSERT_TRUE(report);
  EXPECT_NEAR(cost_of(*report, kGroup).share, 0.25, 1e-6);
  EXPECT_NEAR(time->sum.idle_ns(), 0, 1);
}

TEST(ElapsedTime, OtherUnitsAndSumsAreRefused) {
  const auto refused = [](const profile::RecordingInfo& info) {
    Feed feed = three_threads();
    feed.loader.on_recording(info);
    const Profile profile = feed.loader.finish();
    const auto time = elapsed_time(profile, {});
    return time ? std::string() : time.error().message;
  };
  profile::RecordingInfo info;
  info.start = test::kSampleStart;
  info.sources.push_back({0, "cycles", profile::Unit::kEvents, 1'000'000, false});
  EXPECT_THAT(refused(info), HasSubstr("cycles do not stand for time on the CPU"));
  info.sources[0] = {0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false};
  EXPECT_EQ(refused(info), "");
  info.aggregated_ns = 1'000'000'000;
  EXPECT_THAT(refused(info), HasSubstr("without --aggregate"));
}

// Times and weights of a file may be any numbers.
TEST(ElapsedTime, HostileTimesDoNoHarm) {
  Feed feed = three_threads();
  profile::ExecutionRecord record;
  record.process = test::kSampleProcess;
  record.handle = 60;
  record.plan = test::kSamplePlan;
  record.begin = kTimeMin;
  record.end = kTimeMax - 1;
  feed.loader.on_execution(record);
  for (const TimeNs time : {kTimeMin, TimeNs{-1}, TimeNs{0}, kTimeMax}) {
    profile::SampleRecord sample = test::ir_sample(5, kIrOfScan);
    sample.time = time;
    sample.weight = 1'000'000'000'000'000'000;
    sample.attribution.execution = 60;
    feed.loader.on_samples({&sample, 1});
  }
  const Profile profile = feed.loader.finish();
  const auto time = elapsed_time(profile, {});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_EQ(time->sum.executions, 1u);
  EXPECT_EQ(time->sum.too_short, 1u) << "the mean period is long";
  EXPECT_GT(time->sum.worked_ns, 0);
  EXPECT_LE(time->sum.worked_ns, time->sum.elapsed_ns);
}

}  // namespace
}  // namespace tailor::query
