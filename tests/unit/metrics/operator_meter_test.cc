#include "daemon/metrics/operator_meter.h"

#include <gtest/gtest.h>

#include "daemon/metrics/exposition.h"
#include "daemon/query/plan_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

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
  for (const auto& [kind, seconds] : expected) EXPECT_NEAR(by_kind[kind], seconds, 1e-12) << kind;
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
