#include "daemon/metrics/operator_meter.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "daemon/metrics/exposition.h"
#include "daemon/query/reports/plan_report.h"
#include "tests/support/added_runs.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::metrics {
namespace {

double sum(const std::vector<std::pair<LabelValues, double>>& rows) {
  double all = 0;
  for (const auto& [labels, value] : rows) all += value;
  return all;
}

// The same samples give the meter what they give a report.
TEST(OperatorMeter, SumsEqualTheReport) {
  OperatorMeter meter;
  const auto give = [](profile::ProfileSink& sink) { test::give_profile(sink, 50); };
  give(meter);
  const query::Profile profile = test::make_profile(give);
  const auto report = query::plan_report(profile, {});
  ASSERT_TRUE(report);
  const MeterReading reading = meter.read();
  EXPECT_NEAR(reading.on_cpu_seconds, report->total.weight * 1e-9, 1e-12);
  EXPECT_NEAR(sum(reading.operators), report->operators.amount.weight * 1e-9, 1e-12);
  EXPECT_NEAR(sum(reading.components), report->components.amount.weight * 1e-9, 1e-12);
  EXPECT_NEAR(sum(reading.unattributed), report->unattributed.amount.weight * 1e-9, 1e-12);
  std::map<std::string, double> by_kind, expected;
  for (const auto& [labels, value] : reading.operators) by_kind[labels[2]] += value;
  for (const query::OperatorRow& row : report->plans.at(0).operators)
    expected[row.kind] += row.cost.amount.weight * 1e-9;
  for (const auto& [kind, seconds] : expected) {
    EXPECT_NEAR(by_kind[kind], seconds, 1e-12) << kind;
    EXPECT_NEAR(reading.by_kind.at("kind:" + kind), seconds, 1e-12) << kind;
  }
  EXPECT_NEAR(reading.by_kind.at("component"), report->components.amount.weight * 1e-9, 1e-12);
  EXPECT_NEAR(reading.by_kind.at("unattributed"), report->unattributed.amount.weight * 1e-9, 1e-12);
  EXPECT_EQ(reading.by_kind.size(), expected.size() + 2);
}

// A large plan is learned as others are, unless it would take the room of all others.
TEST(OperatorMeter, LargePlansAreLearnedAndLetGo) {
  OperatorMeter meter;
  test::give_context(meter);
  const profile::SampleRecord samples[] = {test::tag_sample(1, 6)};
  const auto kinds_with = [&](const std::string& kind, std::size_t more) {
    auto plan = std::make_shared<v1::Plan>(test::sample_plan());
    for (v1::Component& op : *plan->mutable_levels(0)->mutable_components()) {
      op.set_kind(kind);
      op.set_name(std::string(more, 'n'));
    }
    const std::weak_ptr<const v1::Plan> kept = plan;
    meter.on_shared_plan(test::kSampleProcess, 0, std::move(plan));
    meter.on_samples(samples);
    const MeterReading reading = meter.read();
    EXPECT_TRUE(kept.expired());
    return reading.by_kind;
  };
  EXPECT_TRUE(kinds_with("large", 1000).contains("kind:large"));
  const auto kinds = kinds_with("too large", std::size_t{4} << 20);
  EXPECT_FALSE(kinds.contains("kind:too large"));
  EXPECT_TRUE(kinds.contains("kind:unknown") || kinds.contains("unattributed"))
      << "of the plan before nothing is left";
}

// Kinds come from engines.
TEST(OperatorMeter, KindsBeyondTheLimitAreOneAndTheSumStays) {
  OperatorMeter meter;
  test::give_context(meter);
  constexpr int kPlans = 200;
  for (int i = 0; i < kPlans; ++i) {
    v1::Plan plan = test::sample_plan();
    for (v1::Component& op : *plan.mutable_levels(0)->mutable_components())
      op.set_kind("kind " + std::to_string(i));
    meter.on_plan(test::kSampleProcess, 0, plan);
    const profile::SampleRecord samples[] = {test::tag_sample(1 + i, 6)};
    meter.on_samples(samples);
    meter.read();
  }
  const MeterReading reading = meter.read();
  EXPECT_LE(reading.by_kind.size(), 65u);
  EXPECT_GT(reading.by_kind.at("other"), 0);
  double all = 0;
  for (const auto& [key, seconds] : reading.by_kind) all += seconds;
  EXPECT_NEAR(all, reading.on_cpu_seconds, 1e-9);
}

// Read while samples come, nothing is counted twice or left out.
TEST(OperatorMeter, ReadingInBetweenChangesNoSum) {
  OperatorMeter once, often;
  test::give_profile(once, 20);
  test::give_context(often);
  for (int i = 0; i < 20; ++i) {
    const profile::SampleRecord samples[] = {test::ir_sample(1 + i, 3), test::shared_sample(2 + i)};
    often.on_samples(samples);
    once.on_samples(samples);
    often.read();
  }
  EXPECT_NEAR(once.read().on_cpu_seconds - often.read().on_cpu_seconds, 20 * 16 * 1e-3, 1e-9);
}

// Whatever engines say, what is kept of it is short.
TEST(OperatorMeter, LabelsAreCut) {
  OperatorMeter meter;
  test::give_context(meter);
  profile::ExecutionRecord execution;
  execution.process = test::kSampleProcess;
  execution.handle = test::kSampleExecution;
  execution.plan = test::kSamplePlan;
  execution.labels = {{"user", std::string(1 << 20, 'u')}, {"database", std::string(127, 'd') + "\u00e4"}};
  meter.on_execution(execution);
  v1::Plan plan = test::sample_plan();
  plan.set_name(std::string(1 << 20, 'p'));
  plan.mutable_levels(0)->mutable_components(0)->set_kind(std::string(1 << 20, 'k'));
  meter.on_plan(test::kSampleProcess, 0, plan);
  const profile::SampleRecord samples[] = {test::ir_sample(1, 3), test::tag_sample(2, 6)};
  meter.on_samples(samples);
  const MeterReading reading = meter.read();
  bool seen = false;
  for (const auto& [labels, value] : reading.operators) {
    for (const std::string& label : labels) EXPECT_LE(label.size(), 128u);
    seen = seen || labels[3] == std::string(127, 'd');
  }
  EXPECT_TRUE(seen) << "no letter is cut in two";
}

// A parallel worker is no run of its own, and its costs are those of the query.
TEST(OperatorMeter, WorkersCountForTheirLeader) {
  const auto reading_with = [](const std::string& leader) {
    OperatorMeter meter;
    test::give_profile(meter, 1);
    v1::Plan plan = test::sample_plan();
    plan.set_name("figure-9;");  // as PostgreSQL's workers have the text
    meter.on_plan(test::kWorkerProcess, 0, plan);
    profile::ExecutionRecord worker = test::worker_execution(leader);
    meter.on_execution(worker);
    profile::SampleRecord sample = test::tag_sample(test::kSampleStart + 2, 6);
    sample.process = test::kWorkerProcess;
    sample.attribution.execution = test::kWorkerExecution;
    meter.on_samples({&sample, 1});
    meter.read();
    worker.end = worker.begin + 1'000'000'000;
    meter.on_execution(worker);
    return meter.read();
  };
  const auto fingerprints = [](const MeterReading& reading) {
    std::set<std::pair<std::string, std::string>> all;
    for (const auto& [labels, value] : reading.operators) {
      if (value > 0) all.insert({labels[0], labels[1]});
    }
    return all;
  };
  const MeterReading led = reading_with(test::sample_leader()), alone = reading_with(std::string(32, '0'));
  EXPECT_EQ(led.executions, 1u);
  EXPECT_EQ(alone.executions, 2u);
  EXPECT_NEAR(alone.execution_seconds - led.execution_seconds, 1, 1e-9);
  EXPECT_EQ(fingerprints(led).size(), 1u);
  EXPECT_EQ(fingerprints(alone).size(), 2u);
  EXPECT_DOUBLE_EQ(led.on_cpu_seconds, alone.on_cpu_seconds);
}

TEST(OperatorMeter, RunsThatAreAddedUpCountEach) {
  OperatorMeter meter;
  test::give_context(meter);
  profile::ExecutionRecord sum;
  sum.process = test::kSampleProcess;
  sum.handle = 99;
  sum.id.bytes.fill(9);
  sum.plan = test::kSamplePlan;
  sum.begin = test::kSampleStart;
  meter.on_execution(sum);
  EXPECT_EQ(meter.read().executions, 0u);
  sum.end = sum.begin + 30'000'000'000;
  sum.added = test::thousand_runs();
  meter.on_execution(sum);
  meter.on_execution(sum);  // told again, as when a segment begins
  const MeterReading reading = meter.read();
  EXPECT_EQ(reading.executions, 1000u);
  EXPECT_EQ(reading.drawn, 1000u);
  EXPECT_EQ(reading.failed, 3u);
  EXPECT_NEAR(reading.execution_seconds, 1.49, 1e-9);
}

TEST(OperatorMeter, RunsOfUnknownNumberAreInNoElapsedTime) {
  OperatorMeter meter;
  test::give_context(meter);
  profile::ExecutionRecord sum;
  sum.process = test::kSampleProcess;
  sum.handle = 99;
  sum.id.bytes.fill(9);
  sum.plan = test::kSamplePlan;
  sum.begin = test::kSampleStart;
  sum.end = sum.begin + 30'000'000'000;
  sum.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  meter.on_execution(sum);
  const MeterReading reading = meter.read();
  EXPECT_EQ(reading.executions, 1u);
  EXPECT_EQ(reading.untimed, 1u);
  EXPECT_EQ(reading.execution_seconds, 0);
}

TEST(Exposition, EscapesWhatEnginesSay) {
  MeterReading reading;
  reading.operators = {{{"f", "a\"b\\c\nd", "k", "db\xff", "u"}, 1.5}};
  const std::string text = exposition(reading, {});
  EXPECT_NE(text.find("query=\"a\\\"b\\\\c\\nd\""), std::string::npos) << text;
  EXPECT_NE(text.find("database=\"(not UTF-8)\""), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE tailor_operator_cpu_seconds_total counter"), std::string::npos) << text;
}

}  // namespace
}  // namespace tailor::metrics
