#include "daemon/clock/model.h"

#include <gtest/gtest.h>

#include "tests/unit/clock/fake_host.h"

namespace tailor::clock {
namespace {

// Feeds a model from a fake host for `seconds`, converting all the way: time must never run backward, and the
// error must stay within the bound that holds at that moment.
class ModelTest : public testing::Test {
 protected:
  void run(double seconds, bool check_bound = true) {
    const std::uint64_t step = 3'000'000;
    for (double passed = 0; passed < seconds; passed += 1e-9 * step) {
      if (host_.now() >= next_) {
        Observation seen = host_.observe();
        seen.tsc_is_clocksource = tsc_is_clocksource_;
        if (module_) seen.module = host_.module_at(host_.now() - 1000);
        if (perf_) seen.perf = host_.perf_page();
        if (module_lies_ns_ != 0) seen.module->base_ns += module_lies_ns_;
        for (const Conversion& c : model_.observe(seen)) journal_.push_back(c);
        next_ = host_.now() + model_.next_observation_ns() * 3;
      }
      host_.advance_ns(step);
      check(check_bound);
    }
  }

  void check(bool check_bound) {
    if (!model_.ready()) return;
    const std::uint64_t tsc = host_.now();
    const TimeNs ns = model_.to_ns(tsc);
    ASSERT_GE(ns, last_ns_);
    last_ns_ = ns;
    if (!check_bound) return;
    const auto bound = static_cast<TimeNs>(model_.timeline().error_bound_ns(tsc));
    ASSERT_LE(std::abs(ns - host_.truth(tsc)), bound + 1);
  }

  TimeNs error_now() const { return std::abs(model_.to_ns(host_.now()) - host_.truth(host_.now())); }

  FakeHost host_;
  Model model_;
  std::vector<Conversion> journal_;
  bool module_ = false, perf_ = false, tsc_is_clocksource_ = true;
  TimeNs module_lies_ns_ = 0;
  std::uint64_t next_ = 0;
  TimeNs last_ns_ = kTimeMin;
};

TEST_F(ModelTest, CalibrationSettlesWithinItsBound) {
  run(70);
  EXPECT_EQ(model_.source(), Source::kCalibration);
  EXPECT_TRUE(model_.trusted());
  EXPECT_LT(model_.error_bound_ns(), 200u);
  EXPECT_EQ(model_.counters().bound_violations, 0u);
  EXPECT_EQ(model_.next_observation_ns(), 1'000'000'000u);
}

TEST_F(ModelTest, ModuleIsTakenFromTheFirstObservation) {
  module_ = true;
  run(3);
  EXPECT_EQ(model_.source(), Source::kModule);
  EXPECT_LE(model_.error_bound_ns(), 5u);
  EXPECT_LE(error_now(), 2);
}

TEST_F(ModelTest, PerfPageBeatsCalibration) {
  perf_ = true;
  run(30);
  EXPECT_EQ(model_.source(), Source::kPerfPage);
  EXPECT_LT(model_.error_bound_ns(), 40u);
}

TEST_F(ModelTest, LeavesASourceThatBecomesInvalidAndComesBack) {
  module_ = true;
  run(5);
  module_ = false;
  perf_ = true;
  run(5);
  EXPECT_EQ(model_.source(), Source::kPerfPage);
  perf_ = false;
  run(5);
  EXPECT_EQ(model_.source(), Source::kCalibration);
  module_ = true;
  run(5);
  EXPECT_EQ(model_.source(), Source::kModule);
  EXPECT_EQ(model_.counters().bound_violations, 0u);
}

TEST_F(ModelTest, DoesNotBelieveAModuleThatLies) {
  module_ = true;
  module_lies_ns_ = 10'000;
  run(5);
  EXPECT_EQ(model_.source(), Source::kCalibration);
  EXPECT_GT(model_.counters().module_contradicted, 0u);
  EXPECT_LT(error_now(), 200);
}

TEST_F(ModelTest, SurvivesAStepOfTheClock) {
  run(5);
  // Between the step and the next observation nobody can know: no bound is checked there.
  host_.step_clock(30'000);
  run(2, false);
  run(5);
  EXPECT_LT(error_now(), 200);
  host_.step_clock(-30'000);
  run(2, false);
  run(5);
  EXPECT_LT(error_now(), 200);
  EXPECT_EQ(model_.counters().breaks, 2u);
  EXPECT_EQ(model_.counters().bound_violations, 2u);
}

TEST_F(ModelTest, HoldsAfterALargeStepBack) {
  run(5);
  host_.step_clock(-3'000'000'000);
  run(5, false);
  run(3);
  EXPECT_LT(error_now(), 200);
}

TEST_F(ModelTest, SurvivesAMigrationToAnotherFrequency) {
  run(5);
  host_.set_khz(2'500'000);
  run(3, false);
  run(5);
  EXPECT_LT(error_now(), 200);
  EXPECT_GE(model_.counters().breaks, 1u);
}

TEST_F(ModelTest, SurvivesATscReset) {
  run(5);
  host_.set_tsc(77);
  next_ = 0;
  run(3);
  EXPECT_EQ(model_.counters().tsc_resets, 1u);
  EXPECT_LT(error_now(), 200);
}

TEST_F(ModelTest, SaysWhenTheTscIsNotTheClocksource) {
  tsc_is_clocksource_ = false;
  perf_ = true;
  run(5);
  EXPECT_FALSE(model_.trusted());
  EXPECT_EQ(model_.source(), Source::kCalibration);
  EXPECT_GE(model_.error_bound_ns(), Calibration::kSlackNs);
}

TEST_F(ModelTest, JournalGivesTheSameTimes) {
  run(2);
  module_ = true;
  run(2);
  module_ = false;
  run(2);
  Timeline replayed;
  for (const Conversion& c : journal_) ASSERT_TRUE(replayed.append(c).ok());
  EXPECT_EQ(replayed.pieces(), model_.timeline().pieces());
  EXPECT_EQ(replayed.to_ns(host_.now()), model_.to_ns(host_.now()));
}

TEST_F(ModelTest, ChangesAreFewOnceSettled) {
  run(70);
  const std::size_t before = journal_.size();
  run(60);
  // Each change is two conversions at most; sixty observations lie between.
  EXPECT_LE(journal_.size() - before, 30u);
}

TEST_F(ModelTest, CopiesTakenWithinTheLeadConvertAlike) {
  run(5);
  const Timeline copy = model_.timeline();
  const std::uint64_t now = host_.now();
  module_ = true;
  next_ = 0;
  run(0.003);
  EXPECT_EQ(model_.source(), Source::kModule);
  EXPECT_EQ(copy.to_ns(now + 30'000'000), model_.to_ns(now + 30'000'000));  // 10 ms on
}

TEST(Model, RejectedPairsAreCounted) {
  Model model;
  Observation bad;
  bad.pair = {.before = 10, .after = 5, .raw_ns = 1};
  EXPECT_TRUE(model.observe(bad).empty());
  EXPECT_EQ(model.counters().rejected_pairs, 1u);
  EXPECT_EQ(model.error_bound_ns(), UINT64_MAX);
}

TEST(Model, SenselessModuleParametersGiveNoLine) {
  EXPECT_FALSE(line_of({}));
  EXPECT_FALSE(line_of({.mult = 1, .shift = 64}));
  EXPECT_FALSE(line_of({.mult = 1, .shift = 24, .base_ns = kTimeMax}));
  EXPECT_FALSE(line_of({.mult = 1, .shift = 24, .base_ns = -5}));
}

}  // namespace
}  // namespace tailor::clock
