#include "daemon/tailord/triggers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tailord {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TimeNs kMs = 1'000'000, kSecond = 1000 * kMs;
constexpr ProcessId kOne{1, 10}, kTwo{2, 20};

TriggerRule slow() {
  TriggerRule rule;
  rule.name = "slow";
  rule.slower_than_usual = 3;
  rule.raise.frequency = 997;
  rule.lasts = 10 * kSecond;
  rule.cool_down = 60 * kSecond;
  return rule;
}

class TriggersTest : public testing::Test {
 protected:
  void begin(ProcessId process, std::uint64_t handle, TimeNs at,
             std::vector<std::pair<std::string, std::string>> labels = {{"query", "select 1 from t"}}) {
    profile::ExecutionRecord record;
    record.process = process;
    record.handle = handle;
    record.begin = at;
    record.labels = std::move(labels);
    triggers.on_execution(record);
    told_[{process, handle}] = record;
  }
  void end(ProcessId process, std::uint64_t handle, TimeNs at, const std::string& error = "") {
    profile::ExecutionRecord record = told_.at({process, handle});
    record.end = at;
    record.error = error;
    triggers.on_execution(record);
  }
  // Runs of the query, of 10 ms each, the last one over at the time that is given back.
  TimeNs runs(int count, TimeNs at = 0) {
    for (int i = 0; i < count; ++i, at += 20 * kMs) {
      begin(kOne, ++handle_, at);
      end(kOne, handle_, at + 10 * kMs);
    }
    return at;
  }
  std::vector<Triggers::Fired> take(TimeNs now, bool may_raise = true) {
    return triggers.take(now, [&](ProcessId) { return may_raise; });
  }

  Triggers triggers;

 private:
  std::map<std::pair<ProcessId, std::uint64_t>, profile::ExecutionRecord> told_;
  std::uint64_t handle_ = 100;
};

TEST_F(TriggersTest, FireWhileAQueryRunsLongerThanUsual) {
  triggers.set({slow()});
  const TimeNs at = runs(UsualTime::kLeast);
  EXPECT_THAT(take(at), IsEmpty());
  begin(kOne, 1, at);
  EXPECT_THAT(take(at + 29 * kMs), IsEmpty());
  const auto fired = take(at + 30 * kMs);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].process, kOne);
  EXPECT_EQ(fired[0].raise.frequency, 997u);
  EXPECT_EQ(fired[0].lasts, 10 * kSecond);
  EXPECT_THAT(fired[0].why, HasSubstr("trigger slow: a query ran 3 times its usual 10 ms"));
  EXPECT_THAT(take(at + 90 * kMs), IsEmpty()) << "once";
  EXPECT_EQ(triggers.counts()[0].fired, 1u);
}

TEST_F(TriggersTest, SayWhatSamplesBringMeanwhile) {
  TriggerRule rule = slow();
  rule.raise = {0, true, true};
  TriggerRule labelled;
  labelled.name = "labelled";
  labelled.label_key = "trace";
  labelled.raise = {0, true, false};
  triggers.set({rule, labelled});
  const TimeNs at = runs(UsualTime::kLeast);
  begin(kOne, 1, at);
  auto fired = take(at + 30 * kMs);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].raise, rule.raise);
  EXPECT_EQ(fired[0].why,
            "trigger slow: a query ran 3 times its usual 10 ms, with call chains and data addresses");
  begin(kTwo, 1, at + kSecond, {{"trace", "yes"}});
  fired = take(at + kSecond);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].raise, labelled.raise);
  EXPECT_EQ(fired[0].why, "trigger labelled: with call chains");
}

TEST_F(TriggersTest, DoNotFireOfWhatEndsInTime) {
  triggers.set({slow()});
  const TimeNs at = runs(UsualTime::kLeast);
  begin(kOne, 1, at);
  end(kOne, 1, at + 29 * kMs);
  EXPECT_THAT(take(at + kSecond), IsEmpty());
}

TEST_F(TriggersTest, KnowNoUsualTimeOfFewRunsOrOfFailures) {
  triggers.set({slow()});
  TimeNs at = runs(static_cast<int>(UsualTime::kLeast) - 1);
  for (std::uint64_t i = 0; i < 10; ++i) {
    begin(kOne, 500 + i, at);
    end(kOne, 500 + i, at + kMs, "cancelled");
  }
  begin(kOne, 1, at);
  EXPECT_THAT(take(at + kSecond), IsEmpty());
}

TEST_F(TriggersTest, RunsThatAreAddedUpAreNoSlowRunAndNoUsualOne) {
  triggers.set({slow()});
  TimeNs at = runs(UsualTime::kLeast);
  const std::vector<std::pair<std::string, std::string>> labels = {
      {"query", "select 1 from t"}, {"runs", "short runs of this plan, added up"}};
  for (std::uint64_t i = 0; i < 2 * UsualTime::kMost; ++i) {
    begin(kOne, 5000 + i, at, labels);
    EXPECT_THAT(take(at + 30 * kSecond), IsEmpty());
    end(kOne, 5000 + i, at += 30 * kSecond);
  }
  begin(kOne, 1, at);
  EXPECT_THAT(take(at + 29 * kMs), IsEmpty());
  const auto fired = take(at + 30 * kMs);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_THAT(fired[0].why, HasSubstr("its usual 10 ms"));
}

// Its label says it from the begin, so that a rule on labels can be meant for it.
TEST_F(TriggersTest, RulesWithoutATimeHoldOfRunsThatAreAddedUp) {
  TriggerRule rule = slow();
  rule.slower_than_usual.reset();
  rule.label_key = "runs";
  triggers.set({rule});
  begin(kOne, 1, 5, {{"runs", "short runs of this plan, added up"}});
  EXPECT_THAT(take(10), SizeIs(1));
}

// Those of before come from the store, and none may count twice.
TEST_F(TriggersTest, RunsCountOnceARuleHasAskedForUsualTimes) {
  TriggerRule other = slow();
  other.slower_than_usual.reset();
  other.label_key = "trace";
  triggers.set({other});
  TimeNs at = runs(UsualTime::kLeast);
  triggers.set({slow()});
  begin(kOne, 1, at);
  EXPECT_THAT(take(at + kSecond), IsEmpty());
  triggers.set({other});
  at = runs(UsualTime::kLeast, at + kSecond);
  triggers.set({slow()});
  begin(kOne, 2, at);
  EXPECT_THAT(take(at + kSecond), SizeIs(1)) << "what is known of queries stays";
}

TEST_F(TriggersTest, LiteralsAreNoOtherQueryAndOtherTextsAre) {
  triggers.set({slow()});
  TimeNs at = 0;
  for (std::uint64_t i = 1; i <= UsualTime::kLeast; ++i, at += 20 * kMs) {
    begin(kOne, i, at, {{"query", "select a from t where b = " + std::to_string(i)}});
    end(kOne, i, at + 10 * kMs);
  }
  begin(kOne, 50, at, {{"query", "select a from u where b = 1"}});
  EXPECT_THAT(take(at + kSecond), IsEmpty());
  begin(kOne, 51, at, {{"query", "select a from t where b = 99"}});
  EXPECT_THAT(take(at + kSecond), SizeIs(1));
}

TEST_F(TriggersTest, WithoutATextThePlansNameTellsQueriesApart) {
  triggers.set({slow()});
  v1::Plan plan;
  plan.set_id(7);
  plan.set_name("tpch-1");
  triggers.on_plan(kOne, 0, plan);
  const auto run = [&](std::uint64_t handle, TimeNs from, PlanId id) {
    profile::ExecutionRecord record;
    record.process = kOne;
    record.handle = handle;
    record.plan = id;
    record.begin = from;
    triggers.on_execution(record);
    record.end = from + 10 * kMs;
    if (handle < 50) triggers.on_execution(record);
  };
  for (std::uint64_t i = 1; i <= UsualTime::kLeast; ++i) run(i, 0, 7);
  for (std::uint64_t i = 11; i <= 10 + UsualTime::kLeast; ++i) run(i, 0, 8);  // nobody knows that plan
  run(51, kSecond, 8);
  EXPECT_THAT(take(2 * kSecond), IsEmpty());
  run(50, kSecond, 7);
  EXPECT_THAT(take(2 * kSecond), SizeIs(1));
}

TEST_F(TriggersTest, CoolDownAndLeaveProcessesWithARateOfTheirOwn) {
  triggers.set({slow()});
  TimeNs at = runs(UsualTime::kLeast);
  begin(kOne, 1, at);
  EXPECT_THAT(take(at + kSecond, false), IsEmpty()) << "somebody asked for a rate";
  EXPECT_EQ(triggers.counts()[0].skipped, 1u);
  begin(kOne, 2, at);
  EXPECT_THAT(take(at + kSecond), SizeIs(1));
  at += 60 * kSecond;
  begin(kOne, 3, at);
  begin(kTwo, 3, at);
  const auto fired = take(at + kSecond);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].process, kTwo) << "each process for itself";
  at += 11 * kSecond;
  begin(kOne, 4, at);
  EXPECT_THAT(take(at + kSecond), SizeIs(1)) << "after 10 s of raise and 60 s";
}

TEST_F(TriggersTest, FireOfALabelAndOfAnExecution) {
  TriggerRule label = slow(), engine = slow();
  label.name = "label";
  label.slower_than_usual.reset();
  label.label_key = "trace";
  label.label_value = "yes";
  engine.name = "engine";
  engine.slower_than_usual.reset();
  engine.process = "weft";
  triggers.set({label, engine});
  profile::ProcessRecord process;
  process.process = kTwo;
  process.comm = "main";
  process.engine_name = "weft";
  triggers.on_process(process);
  begin(kOne, 1, 5, {{"trace", "no"}});
  EXPECT_THAT(take(10), IsEmpty());
  begin(kOne, 2, 5, {{"trace", "yes"}});
  end(kOne, 2, 6);
  auto fired = take(10);
  ASSERT_THAT(fired, SizeIs(1)) << "also of one that is over already";
  EXPECT_EQ(fired[0].why, "trigger label");
  begin(kTwo, 3, 5, {{"trace", "yes"}});
  fired = take(10);
  ASSERT_THAT(fired, SizeIs(1)) << "one raise of a process";
  EXPECT_EQ(triggers.counts()[0].fired + triggers.counts()[1].fired, 2u);
}

TEST_F(TriggersTest, FireOfOneExecution) {
  TriggerRule rule = slow();
  rule.slower_than_usual.reset();
  rule.execution = "3f2a";
  triggers.set({rule});
  profile::ExecutionRecord record;
  record.process = kOne;
  record.begin = 5;
  for (const std::uint8_t first : {0x3f, 0x4f}) {
    record.handle = record.id.bytes[0] = first;
    record.id.bytes[1] = 0x2a;
    triggers.on_execution(record);
    EXPECT_THAT(take(10), SizeIs(first == 0x3f ? 1 : 0));
  }
}

TEST_F(TriggersTest, StayWithinTheBudgetOfAnHour) {
  constexpr TimeNs kHour = 3600 * kSecond;
  TriggerRule rule = slow();
  rule.slower_than_usual.reset();
  rule.label_key = "trace";
  rule.cool_down = 0;
  rule.budget = 25 * kSecond;  // of 10 s each: two
  triggers.set({rule});
  const auto fires = [&](std::int32_t process, TimeNs at) {
    begin({process, 1}, 1, at, {{"trace", "yes"}});
    end({process, 1}, 1, at);
    return take(at).size();
  };
  EXPECT_EQ(fires(1, kSecond), 1u);
  EXPECT_EQ(fires(2, 2 * kSecond), 1u);
  EXPECT_EQ(fires(3, 3 * kSecond), 0u) << "the budget is of all processes";
  triggers.set({rule});
  EXPECT_EQ(fires(3, 4 * kSecond), 0u) << "and a reload is no way around it";
  EXPECT_EQ(triggers.counts()[0].skipped, 1u);
  EXPECT_EQ(fires(3, kSecond + kHour), 1u) << "an hour behind the first one there is room for one";
  EXPECT_EQ(fires(4, kSecond + kHour), 0u);
}

TEST_F(TriggersTest, WorkersOfAQueryAreNoQueries) {
  TriggerRule rule = slow();
  rule.slower_than_usual.reset();
  rule.label_key = "leader_execution";
  triggers.set({rule});
  begin(kOne, 1, 5, {{"leader_execution", std::string(32, 'a')}});
  EXPECT_THAT(take(10), IsEmpty());
}

// Told by the source of waits; 7 is that of another event.
class WaitTriggersTest : public TriggersTest {
 protected:
  WaitTriggersTest() {
    profile::RecordingInfo info;
    info.sources = {{1, "off-cpu", profile::Unit::kNsOffCpu, 1, false},
                    {7, "cpu-clock", profile::Unit::kNsOnCpu, 1, false}};
    info.wait_names = {"Lock:transactionid", "Lock\nx"};
    triggers.on_recording(info);
  }
  static TriggerRule waits(const std::string& wait = "") {
    TriggerRule rule = slow();
    rule.name = "locked";
    rule.slower_than_usual.reset();
    rule.wait_longer_than = 500 * kMs;
    rule.wait = wait;
    return rule;
  }
  void wait(ProcessId process, std::uint64_t execution, TimeNs ns, profile::Wait why,
            std::uint32_t engine_wait = 0, std::uint16_t source = 1) {
    profile::SampleRecord sample;
    sample.process = process;
    sample.attribution.execution = execution;
    sample.time = kSecond;
    sample.weight = static_cast<std::uint64_t>(ns);
    sample.wait = why;
    sample.engine_wait = engine_wait;
    sample.source = source;
    triggers.on_samples({&sample, 1});
  }
};

TEST_F(WaitTriggersTest, FireOfALongWaitForALockOrForWhatHasAName) {
  triggers.set({waits()});
  begin(kOne, 1, 0);
  begin(kTwo, 2, 0);
  wait(kOne, 1, 499 * kMs, profile::Wait::kLock);
  wait(kOne, 1, kSecond, profile::Wait::kRunnable, 1);
  wait(kOne, 1, kSecond, profile::Wait::kIo);
  wait(kOne, 1, kSecond, profile::Wait::kLock, 0, 7);
  wait(kOne, 9, kSecond, profile::Wait::kLock);  // nobody knows that execution
  EXPECT_THAT(take(2 * kSecond), IsEmpty());
  wait(kOne, 1, 500 * kMs, profile::Wait::kLock);
  wait(kOne, 1, 700 * kMs, profile::Wait::kLock);
  auto fired = take(2 * kSecond);
  ASSERT_THAT(fired, SizeIs(1)) << "once";
  EXPECT_EQ(fired[0].process, kOne);
  EXPECT_EQ(fired[0].why, "trigger locked: a query waited 500 ms (lock)");
  EXPECT_EQ(triggers.counts()[0].skipped, 0u);
  end(kTwo, 2, kSecond);  // its last samples come later
  wait(kTwo, 2, 2 * kSecond, profile::Wait::kBlocked, 2);
  fired = take(2 * kSecond);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].why, "trigger locked: a query waited 2 s (Lock?x)");
}

TEST_F(WaitTriggersTest, AreOfTheWaitThatIsNamed) {
  const struct {
    const char* asked;
    profile::Wait wait;
    std::uint32_t name;
    bool fires;
  } kCases[] = {{"io", profile::Wait::kIo, 0, true},
                {"io", profile::Wait::kLock, 1, false},
                {"Lock:transactionid", profile::Wait::kBlocked, 1, true},
                {"Lock", profile::Wait::kBlocked, 1, true},
                {"Loc", profile::Wait::kBlocked, 1, false},
                {"Lock", profile::Wait::kBlocked, 2, false},
                {"Lock", profile::Wait::kLock, 3, false}};  // a name that was not told
  std::uint64_t number = 0;
  for (const auto& each : kCases) {
    TriggerRule rule = waits(each.asked);
    rule.name = std::to_string(++number);  // each cools down for itself
    triggers.set({rule});
    begin(kOne, number, 0);
    wait(kOne, number, kSecond, each.wait, each.name);
    EXPECT_EQ(take(2 * kSecond).size(), each.fires ? 1u : 0u) << each.asked << " " << each.name;
  }
}

TEST_F(TriggersTest, FireOfWhatRunsWhileTheRunQueueIsLong) {
  TriggerRule rule = slow();
  rule.name = "busy";
  rule.slower_than_usual.reset();
  rule.run_queue_above = 8;
  triggers.set({rule});
  EXPECT_TRUE(triggers.asks_run_queue());
  const auto take_at = [&](TimeNs now, std::optional<double> run_queue) {
    return triggers.take(now, [](ProcessId) { return true; }, run_queue);
  };
  begin(kOne, 1, 5);
  begin(kTwo, 2, 5);
  EXPECT_THAT(take_at(10, std::nullopt), IsEmpty()) << "it is not known yet";
  EXPECT_THAT(take_at(10, 8), IsEmpty());
  end(kTwo, 2, 11);
  const auto fired = take_at(20, 8.5);
  ASSERT_THAT(fired, SizeIs(1)) << "of what still runs";
  EXPECT_EQ(fired[0].process, kOne);
  EXPECT_EQ(fired[0].why, "trigger busy: the run queue was 8.5 on average");
  EXPECT_THAT(take_at(30, 9), IsEmpty()) << "once";
  triggers.set({slow()});
  EXPECT_FALSE(triggers.asks_run_queue());
}

TEST_F(TriggersTest, ARunQueueAndASlowQueryMustHoldTogether) {
  TriggerRule rule = slow();
  rule.run_queue_above = 8;
  triggers.set({rule});
  const TimeNs at = runs(UsualTime::kLeast);
  const auto take_at = [&](TimeNs now, double run_queue) {
    return triggers.take(now, [](ProcessId) { return true; }, run_queue);
  };
  begin(kOne, 1, at);
  EXPECT_THAT(take_at(at + 10 * kMs, 20), IsEmpty());
  EXPECT_THAT(take_at(at + 40 * kMs, 2), IsEmpty());
  const auto fired = take_at(at + 50 * kMs, 20);
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_EQ(fired[0].why,
            "trigger slow: a query ran 3 times its usual 10 ms, and the run queue was 20 on average");
}

TEST_F(TriggersTest, AreBounded) {
  triggers.set({slow()});
  for (std::uint64_t i = 1; i <= 3 * Triggers::kMostRunning; ++i)
    begin(kOne, i, 5, {{"query", "q" + std::to_string(i)}});
  EXPECT_THAT(take(kSecond), IsEmpty());
}

TEST(UsualTimeTest, IsTheMedianOfTheLastRuns) {
  UsualTime usual;
  for (std::size_t i = 0; i + 1 < UsualTime::kLeast; ++i) usual.add(0, 100);
  EXPECT_FALSE(usual.get(0));
  usual.add(0, 1'000'000);
  EXPECT_EQ(usual.get(0), 100);
  for (std::size_t i = 0; i < UsualTime::kMost; ++i) usual.add(0, 7);
  EXPECT_EQ(usual.get(0), 7);
}

TEST(UsualTimeTest, RunsOfMoreThanAWeekAgoDoNotCount) {
  UsualTime usual;
  for (std::size_t i = 0; i < UsualTime::kLeast; ++i) usual.add(0, 100);
  EXPECT_EQ(usual.get(UsualTime::kFor), 100);
  EXPECT_FALSE(usual.get(UsualTime::kFor + 1));
  for (std::size_t i = 0; i < UsualTime::kLeast; ++i) usual.add(UsualTime::kFor, 300);
  EXPECT_EQ(usual.get(UsualTime::kFor + 1), 300);
}

}  // namespace
}  // namespace tailor::tailord
