// Executions, reconnects, and the order in which the profile hears of things.
#include <gtest/gtest.h>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/told_by.h"
#include "tests/support/added_runs.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

TEST_F(PipelineTest, AnExecutionIsToldWhenItBeginsAndWhenItEnds) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), kTimeMax);
  script.end(kProcess, ms(3), 5);
  const profile::ExecutionRecord& execution = sink.executions.at({kProcess, 5});
  EXPECT_EQ(execution.begin, ms(1));
  EXPECT_EQ(execution.end, ms(3));
  EXPECT_EQ(execution.plan, 1u);
  script.end(kProcess, ms(4), 5);
  pipeline.flush(ms(5));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 1u);
}

// It is told once: an agent that connects again says it again. Another agent of the process is heard anew.
TEST_F(PipelineTest, WhatAnAgentNoticedIsKeptAndTold) {
  start_engine();
  (void)pipeline.take_problems();
  const auto notice = [&](std::uint32_t kind, const std::string& text) {
    script.say(kProcess, ms(1), [&](v1::AgentMessage& message) {
      message.mutable_notice()->set_kind(kind);
      message.mutable_notice()->set_text(text);
    });
  };
  notice(5, "r15 is not kept");
  notice(16, "something else");
  script.gone(kProcess, registration::GoneReason::kHangup);
  script.hello(kProcess, 2, ms(10));
  notice(5, "r15 is not kept");
  EXPECT_EQ(sink.processes.at(kProcess).agent_notices,
            (std::vector<std::string>{"r15 is not kept", "something else"}));
  const auto problems = pipeline.take_problems();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].process, kProcess);
  EXPECT_EQ(problems[0].text, "its agent says: r15 is not kept");
  pipeline.flush(ms(20));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 0u);
}

// In overload the end of something comes whose begin was lost. The log says so, and blames nobody.
TEST_F(PipelineTest, AProblemSaysThatMessagesWereLost) {
  start_engine();
  (void)pipeline.take_problems();
  const auto said = [&] {
    script.unload_code(kProcess, ms(1), 77);
    const auto problems = pipeline.take_problems();
    return problems.empty() ? std::string("nothing") : problems.front().text;
  };
  const std::string whole = said();
  EXPECT_EQ(whole.find("lost"), std::string::npos) << whole;
  pipeline.on_agent_dropped(kProcess, 1);
  EXPECT_EQ(said(), whole + " (so far 1 message of this process was lost before it reached the daemon)");
  pipeline.on_agent_dropped(kProcess, 12);
  EXPECT_EQ(said(), whole + " (so far 12 messages of this process were lost before they reached the daemon)");
}

// Each agent of a process counts from 0. One that connects again goes on, and sends what it had ready.
TEST_F(PipelineTest, WhatAgentsLostIsCountedOverAllAgentsOfAProcess) {
  script.hello(kProcess, 1, us(1), "first");
  const auto account = [&]() -> const profile::Accounting& {
    return pipeline.processes().find(kProcess)->accounting;
  };
  const auto hang_up = [&](std::uint64_t dropped, std::uint64_t unsent) {
    pipeline.on_agent_dropped(kProcess, dropped);
    pipeline.on_agent_unsent(kProcess, unsent);
    script.gone(kProcess, registration::GoneReason::kHangup);
  };
  hang_up(3, 7);
  EXPECT_EQ(account().agent_unsent, 7u);
  script.hello(kProcess, 2, ms(1), "first");
  EXPECT_EQ(account().agent_dropped, 3u);
  EXPECT_EQ(account().agent_unsent, 0u) << "it sends them now";
  hang_up(4, 2);
  script.hello(kProcess, 3, ms(2), "second");
  EXPECT_EQ(account().agent_unsent, 2u) << "nobody sends them any more";
  hang_up(10, 20);
  EXPECT_EQ(account().agent_dropped, 14u);
  EXPECT_EQ(account().agent_unsent, 22u);
  // Stopped, and started again.
  script.hello(kProcess, 4, ms(3), "second");
  script.gone(kProcess, registration::GoneReason::kGoodbye);
  script.hello(kProcess, 5, ms(4), "second");
  pipeline.on_agent_dropped(kProcess, 11);
  EXPECT_EQ(account().agent_dropped, 15u);
  EXPECT_EQ(account().agent_unsent, 2u);
}

TEST_F(PipelineTest, RowsThatNobodyCountedAreNotKnown) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  script.begin(kProcess, ms(1), 6, 1);
  script.end(kProcess, ms(3), 5, 0);
  script.end(kProcess, ms(3), 6, UINT64_MAX);
  EXPECT_TRUE(sink.executions.at({kProcess, 5}).rows_known);
  EXPECT_FALSE(sink.executions.at({kProcess, 6}).rows_known);
  EXPECT_EQ(sink.executions.at({kProcess, 6}).rows, 0u);
}

TEST_F(PipelineTest, AnEndSaysHowManyRunsItStandsFor) {
  start_engine();
  const auto end = [&](ExecutionHandle handle, std::uint64_t failed) {
    script.say(kProcess, ms(3), [&](v1::AgentMessage& message) {
      v1::ExecutionEnd& said = *message.mutable_execution_end();
      said.set_handle(handle);
      said.set_result_rows(12);
      profile::encode_added_runs(*test::thousand_runs(), *said.mutable_added_runs());
      said.mutable_added_runs()->set_failed(failed);
    });
  };
  for (ExecutionHandle handle = 5; handle < 8; ++handle) script.begin(kProcess, ms(1), handle, 1);
  end(5, 3);
  end(6, 2000);
  script.end(kProcess, ms(3), 7);
  ASSERT_NE(sink.executions.at({kProcess, 5}).added, nullptr);
  EXPECT_EQ(*sink.executions.at({kProcess, 5}).added, *test::thousand_runs());
  EXPECT_EQ(sink.executions.at({kProcess, 5}).rows, 12u);
  EXPECT_EQ(sink.executions.at({kProcess, 6}).added, nullptr) << "more failed than there are";
  EXPECT_EQ(sink.executions.at({kProcess, 6}).end, ms(3)) << "but it ended";
  EXPECT_EQ(sink.executions.at({kProcess, 7}).added, nullptr) << "of an older agent";
  pipeline.flush(ms(5));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 1u);
}

TEST_F(PipelineTest, WhatRunsWhenTheProcessEndsHasEnded) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  pipeline.advance(ms(9));
  script.gone(kProcess, registration::GoneReason::kProcessExit);
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), ms(9));
  EXPECT_NE((sink.executions.at({kProcess, 5}).error), "");
  EXPECT_EQ(sink.unloads, std::vector<CodeId>{11});
}

TEST_F(PipelineTest, WhatItsThreadsHadEndedDidNotFailWhenTheProcessEnds) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  script.begin(kProcess, ms(1), 6, 1);
  script.work(kProcess, 42, ms(2), ms(3), 5, 1);
  pipeline.advance(ms(9));
  script.gone(kProcess, registration::GoneReason::kProcessExit);
  const profile::ExecutionRecord& over = sink.executions.at({kProcess, 5});
  EXPECT_EQ(over.end, ms(3));
  EXPECT_EQ(over.error, "");
  EXPECT_FALSE(over.rows_known);
  const profile::ExecutionRecord& cut = sink.executions.at({kProcess, 6});
  EXPECT_EQ(cut.end, ms(9));
  EXPECT_NE(cut.error, "");
  EXPECT_FALSE(cut.rows_known);
}

// An agent may have heard of code late itself. It is no matter what it says of that.
TEST_F(PipelineTest, CodeThatCameAfterSamplesOfItsTimeIsToldAsLate) {
  start_engine();
  const auto load = [&](TimeNs time, CodeId id, TimeNs since) {
    v1::CodeObject code = test::small_code(id, 1, kCode + id * 0x1000);
    code.set_load_tsc(static_cast<std::uint64_t>(since));
    code.set_told_by(v1::TOLD_BY_PERF_MAP);
    script.load(kProcess, time, code);
  };
  script.sample(42, 42, ms(10), kCode + 20 * 0x1000 + 16);
  script.read();
  script.settle(kProcess, ms(400));
  pipeline.advance(ms(300));  // samples up to 100 ms
  load(ms(301), 20, ms(2));
  load(ms(301), 21, ms(150));
  EXPECT_EQ(sink.told_by.at(11), v1::TOLD_BY_AGENT);
  EXPECT_EQ(sink.told_by.at(20), profile::kToldByAgentLate);
  EXPECT_EQ(sink.told_by.at(21), v1::TOLD_BY_AGENT);
  EXPECT_EQ(sink.accounting.at(kProcess).unattributed, 1u);
}

// Whatever an agent writes there itself.
TEST_F(PipelineTest, APlanThatCameAfterSamplesOfItsTimeIsToldAsLate) {
  start_engine();
  const auto load = [&](TimeNs time, PlanId id) {
    v1::Plan plan = test::small_plan(id);
    plan.set_slot(static_cast<std::uint32_t>(id));
    plan.set_late_until(77);
    script.load(kProcess, time, plan);
  };
  script.sample(42, 42, ms(10), kCode + 16);
  script.read();
  script.settle(kProcess, ms(400));
  pipeline.advance(ms(300));  // samples up to 100 ms
  load(ms(2), 2);
  load(ms(150), 3);
  EXPECT_EQ(sink.plan_bodies.at(2).late_until(), ms(100));
  EXPECT_EQ(sink.plan_bodies.at(3).late_until(), 0);
  // Of before its process registered nobody believes tags.
  script.hello(kOther, 2, ms(200));
  script.load(kOther, ms(50), test::small_plan(4));
  EXPECT_EQ(sink.plan_bodies.at(4).late_until(), 0);
}

TEST_F(PipelineTest, AReconnectOfTheSameAgentTellsNothingTwice) {
  start_engine();
  script.load(kProcess, us(1), test::small_code(12, 1, kCode + 0x1000));
  script.begin(kProcess, ms(1), 5, 1);
  script.begin(kProcess, ms(1), 6, 1);
  script.gone(kProcess, registration::GoneReason::kHangup);
  script.hello(kProcess, 2, ms(10));
  script.load(kProcess, us(1), test::small_plan(1));
  script.load(kProcess, us(1), test::small_code(11, 1, kCode));
  script.begin(kProcess, ms(1), 5, 1);
  EXPECT_TRUE(sink.unloads.empty());
  script.settle(kProcess, ms(11));
  EXPECT_EQ(sink.plans, std::vector<PlanId>{1});
  EXPECT_EQ(sink.codes, (std::vector<CodeId>{11, 12}));
  EXPECT_EQ(sink.unloads, std::vector<CodeId>{12});
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), kTimeMax);
  EXPECT_EQ((sink.executions.at({kProcess, 6}).end), ms(10));
  pipeline.flush(ms(20));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 0u);
}

TEST_F(PipelineTest, AnotherAgentInTheSameProcessStartsAnew) {
  start_engine();
  script.hello(kProcess, 2, ms(10), "another");
  EXPECT_EQ(sink.unloads, std::vector<CodeId>{11});
  script.sample(42, 42, ms(5), kCode + 16);
  script.sample(42, 42, ms(15), kCode + 16);
  script.read();
  pipeline.flush(ms(20));
  EXPECT_EQ(sink.samples.at(0).attribution.how, profile::How::kCode);
  EXPECT_EQ(sink.samples.at(1).attribution.how, profile::How::kUnattributed);
}

TEST_F(PipelineTest, AfterAnExecTheOldCodeIsGone) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  script.sample(42, 42, ms(2), kCode + 16);
  script.record(test::RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).u32(42).u32(42).text("other"),
                42, ms(3));
  script.sample(42, 42, ms(4), kCode + 16);
  script.read();
  pipeline.flush(ms(10));
  EXPECT_EQ(sink.samples.at(0).attribution.how, profile::How::kCode);
  EXPECT_EQ(sink.samples.at(1).attribution.reason, profile::Reason::kNotRegistered);
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), ms(3));
}

// A socket is faster than a ring.
TEST_F(PipelineTest, CodeEndsWithItsProgramAlsoWhereTheNextOneHasSpoken) {
  start_engine();
  script.sample(42, 42, ms(2), kCode + 16);
  script.executes(42, ms(3));
  script.sample(42, 42, ms(4), kCode + 16);
  script.hello(kProcess, 2, ms(5), "next");
  script.sample(42, 42, ms(6), kCode + 16);
  script.read();
  pipeline.flush(ms(10));
  std::vector<CodeId> codes;
  for (const profile::SampleRecord& each : sink.samples) codes.push_back(each.attribution.code);
  EXPECT_EQ(codes, (std::vector<CodeId>{11, 0, 0}));
}

// Both count from 1. What the first one said keeps its numbers, and so its names and owners.
TEST_F(PipelineTest, WhatAnotherAgentSaysHasNumbersOfItsOwn) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  script.work(kProcess, 42, ms(1), ms(4), 5, 1);
  script.sample(42, 42, ms(2), kCode + 16);
  script.hello(kProcess, 2, ms(10), "another");
  script.load(kProcess, ms(10), test::small_plan(1));
  script.load(kProcess, ms(10), test::small_code(11, 1, kCode));
  script.begin(kProcess, ms(11), 5, 1);
  script.work(kProcess, 42, ms(11), ms(14), 5, 1);
  script.sample(42, 42, ms(12), kCode + 16);
  script.end(kProcess, ms(15), 5);
  script.unload_code(kProcess, ms(16), 11);
  script.unload_plan(kProcess, ms(16), 1);
  script.read();
  pipeline.flush(ms(20));
  EXPECT_EQ(sink.plans, (std::vector<PlanId>{1, 2}));
  EXPECT_EQ(sink.codes, (std::vector<CodeId>{11, 22}));
  EXPECT_EQ(sink.unloads, (std::vector<CodeId>{11, 22}));
  ASSERT_EQ(sink.samples.size(), 2u);
  const profile::Attribution first = sink.samples[0].attribution, second = sink.samples[1].attribution;
  EXPECT_EQ(first.code, 11u);
  EXPECT_EQ(first.plan, 1u);
  EXPECT_EQ(first.execution, 5u);
  EXPECT_EQ(second.code, 22u);
  EXPECT_EQ(second.plan, 2u);
  EXPECT_EQ(second.execution, 10u);
  ASSERT_EQ(sink.executions.size(), 2u);
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), ms(4));
  EXPECT_EQ((sink.executions.at({kProcess, 10}).end), ms(15));
  EXPECT_EQ((sink.executions.at({kProcess, 10}).plan), 2u);
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 0u);
}

// So do its engine components and its kinds of regions.
TEST_F(PipelineTest, WhatAnotherAgentDeclaresHasNumbersOfItsOwn) {
  PipelineOptions options;
  options.all_marks = true;
  Pipeline all(sink, options);
  test::ScriptedInput says(all);
  says.open();
  const auto mark = [&](tailor_log_kind kind, std::uint32_t id, TimeNs time, std::uint64_t base = 0) {
    registration::ActivityRecords log;
    log.process = kProcess;
    log.tid = 42;
    tailor_log_record record{};
    record.tsc = static_cast<std::uint64_t>(time);
    record.kind = static_cast<std::uint16_t>(kind);
    record.id = id;
    record.a = base;
    record.b = base == 0 ? 0 : 64;
    log.records.push_back(record);
    all.on_activity(log);
  };
  const auto speaks = [&](std::uint64_t connection, const std::string& agent, TimeNs time) {
    says.hello(kProcess, connection, time, agent);
    says.load(kProcess, time, test::small_plan(1));
    for (std::uint32_t id : {1u, 2u}) {
      says.say(kProcess, time, [&](v1::AgentMessage& m) {
        m.mutable_component_declare()->set_id(id);
        m.mutable_component_declare()->set_name(agent + std::to_string(id));
      });
    }
    says.say(kProcess, time, [&](v1::AgentMessage& m) {
      m.mutable_component_code()->set_id(2);
      m.mutable_component_code()->set_begin(kCode);
      m.mutable_component_code()->set_end(kCode + 64);
    });
    says.say(kProcess, time, [&](v1::AgentMessage& m) {
      m.mutable_region_kind()->set_id(1);
      m.mutable_region_kind()->set_name("table of " + agent);
      m.mutable_region_kind()->set_plan_id(1);
    });
    mark(TAILOR_LOG_COMPONENT_BEGIN, 1, time + us(1));
    mark(TAILOR_LOG_REGION_ADD, 1, time + us(1), 0x5000);
    says.sample(42, 42, time + us(2), 0x400000);
    mark(TAILOR_LOG_COMPONENT_END, 1, time + us(3));
    says.sample(42, 42, time + us(4), kCode + 8);
    says.read();
    all.flush(time + us(5));
  };
  speaks(1, "a", ms(1));
  speaks(2, "b", ms(10));
  std::vector<std::uint32_t> owners;
  for (const profile::SampleRecord& each : sink.samples) owners.push_back(each.attribution.engine_component);
  EXPECT_EQ(owners, (std::vector<std::uint32_t>{1, 2, 3, 4}));
  const std::vector<std::string> names = {"a1", "a2", "b1", "b2"};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ((sink.components[{kProcess, i + 1}]), names[i]);
  EXPECT_EQ(sink.region_kinds, (std::map<std::uint32_t, std::string>{{1, "table of a"}, {2, "table of b"}}));
  EXPECT_EQ(sink.region_plans, (std::map<std::uint32_t, PlanId>{{1, 1}, {2, 2}}));
  std::vector<std::uint32_t> marks;
  for (const profile::ActivityRecord& each : sink.activity) {
    const bool counts = each.kind == TAILOR_LOG_COMPONENT_BEGIN || each.kind == TAILOR_LOG_REGION_ADD;
    if (counts) marks.push_back(each.id);
  }
  EXPECT_EQ(marks, (std::vector<std::uint32_t>{1, 1, 3, 2}));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 0u);
}

// It is a cause that `tailor doctor` names.
TEST_F(PipelineTest, CodeWhosePlanWasNotLoadedIsCountedApart) {
  start_engine();
  script.load(kProcess, ms(1), test::small_code(12, 9, 0x20000));
  script.load(kProcess, ms(1), test::small_code(13, 1, kCode, 64, {{70, 1 << 1}}));  // rows beyond its end
  pipeline.flush(ms(2));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 2u);
  EXPECT_EQ(sink.accounting.at(kProcess).codes_without_plan, 1u);
}

// The highest ones are the daemon's own.
TEST_F(PipelineTest, AnAgentTakesNoNumberOfTheDaemons) {
  start_engine();
  const auto declare = [&](std::uint32_t id) {
    script.say(kProcess, ms(1), [&](v1::AgentMessage& m) {
      m.mutable_component_declare()->set_id(id);
      m.mutable_component_declare()->set_name("mine");
    });
  };
  declare(process::kHighestSaid);
  declare(process::kStartComponent);
  declare(process::kAgentComponent);
  pipeline.flush(ms(2));
  EXPECT_EQ((sink.components[{kProcess, process::kHighestSaid}]), "mine");
  EXPECT_EQ((sink.components[{kProcess, process::kStartComponent}]), process::kStartComponentName);
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 2u);
}

TEST_F(PipelineTest, AMessageCannotComeFromTheFuture) {
  start_engine();
  registration::PeerMessage forged;
  forged.connection = 1;
  forged.process = kProcess;
  forged.received_tsc = static_cast<std::uint64_t>(ms(5));
  forged.message.set_tsc(UINT64_MAX);
  forged.message.mutable_execution_begin()->set_handle(9);
  forged.message.mutable_execution_begin()->set_id(std::string(16, 'x'));
  pipeline.on_message(forged);
  EXPECT_EQ((sink.executions.at({kProcess, 9}).begin), ms(5));
}

TEST_F(PipelineTest, LogRecordsAreCountedAndPassedOn) {
  start_engine();
  script.work(kProcess, 44, ms(1), ms(2), 5, 1);
  registration::ActivityRecords holes;
  holes.process = kProcess;
  holes.tid = 44;
  holes.lost = 3;
  pipeline.on_activity(holes);
  pipeline.flush(ms(3));
  EXPECT_EQ(sink.activity.size(), 2u);
  EXPECT_EQ(sink.activity[0].time, ms(1));
  EXPECT_EQ(sink.accounting.at(kProcess).log_records, 2u);
  EXPECT_EQ(sink.accounting.at(kProcess).log_lost, 3u);
}

// Somebody sets the clock of the day: what began before keeps its time.
TEST_F(PipelineTest, ExecutionsHaveTheTimeOfDayThatHeldWhenTheyBegan) {
  constexpr std::uint64_t kDay = 1'000'000'000'000'000;
  profile::RecordingInfo info;
  info.wall_clock_ns = kDay;
  pipeline.on_recording(info);
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  info.wall_clock_ns = kDay + 3600 * std::uint64_t{1'000'000'000};  // an hour later
  pipeline.on_recording(info);
  script.begin(kProcess, ms(2), 6, 1);
  script.end(kProcess, ms(3), 5);
  pipeline.flush(ms(4));
  EXPECT_EQ((sink.executions.at({kProcess, 5}).wall_begin_ns), kDay + ms(1));
  EXPECT_EQ((sink.executions.at({kProcess, 6}).wall_begin_ns), info.wall_clock_ns + ms(2));
}

// A new daemon reads the logs from where they still reach back to; the one before has counted and kept that.
TEST_F(PipelineTest, WhatLogsSayOfBeforeTheRecordingIsBelievedAndNotCounted) {
  profile::RecordingInfo info;
  info.start = ms(5);
  pipeline.on_recording(info);
  script.hello(kProcess, 1, ms(6));
  script.load(kProcess, ms(1), test::small_plan(1));
  script.load(kProcess, ms(1), test::small_code(11, 1, kCode));
  script.begin(kProcess, ms(1), 5, 1);
  registration::ActivityRecords log;
  log.process = kProcess;
  log.tid = 44;
  log.lost = 1000;  // overwritten long ago
  tailor_log_record record{};
  record.tsc = static_cast<std::uint64_t>(ms(1));
  record.kind = TAILOR_LOG_EXECUTION_BEGIN;
  record.a = 5;
  record.b = 1;
  log.records.push_back(record);
  record.tsc = static_cast<std::uint64_t>(ms(8));
  record.kind = TAILOR_LOG_EXECUTION_END;
  log.records.push_back(record);
  pipeline.on_activity(log);
  script.sample(42, 44, ms(7), kCode + 16);
  script.read();
  pipeline.flush(ms(9));
  ASSERT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.samples[0].attribution.execution, 5u);
  // The span of the execution is kept from the recording's start on.
  ASSERT_EQ(sink.activity.size(), 2u);
  EXPECT_EQ(sink.activity[0].time, ms(5));
  EXPECT_EQ(sink.activity[1].time, ms(8));
  EXPECT_EQ(sink.accounting.at(kProcess).log_records, 1u);
  EXPECT_EQ(sink.accounting.at(kProcess).log_lost, 0u);
}

TEST_F(PipelineTest, OfWhatIsRefusedNobodyKeepsAnything) {
  start_engine();
  EXPECT_TRUE(pipeline.messages().took());
  const std::size_t before = pipeline.shares().bytes();
  v1::CodeObject code = test::small_code(12, 99, kCode + 0x1000);  // of a plan that nobody loaded
  code.set_eh_frame(std::string(1 << 20, 'x'));
  script.load(kProcess, ms(1), code);
  EXPECT_FALSE(pipeline.messages().took());
  EXPECT_EQ(pipeline.shares().bytes(), before);
}

class SmallPipelineTest : public PipelineTest {
 protected:
  SmallPipelineTest() { small_script.open(); }
  static PipelineOptions small() {
    PipelineOptions options;
    options.limits.total_bytes = 3 << 20;
    options.limits.user_plans = 4;
    return options;
  }
  Pipeline small_pipeline{sink, small()};
  test::ScriptedInput small_script{small_pipeline};
};

TEST_F(SmallPipelineTest, LabelsOfRunningExecutionsAreBoundedAndTheAgentIsTold) {
  small_script.hello(kProcess, 1, us(1));
  small_script.hello(kOther, 2, us(1));
  for (ExecutionHandle handle = 1; handle <= 1000; ++handle) {
    small_script.say(kProcess, ms(1), [&](v1::AgentMessage& m) {
      m.mutable_execution_begin()->set_handle(handle);
      m.mutable_execution_begin()->set_id(std::string(16, 'x'));
      v1::Label& label = *m.mutable_execution_begin()->add_labels();
      label.set_key("query");
      label.set_value(std::string(10'000, 'q'));
    });
  }
  EXPECT_LE(small_pipeline.shares().bytes(), std::size_t{3} << 20);
  const auto limited = small_pipeline.messages().take_limited();
  ASSERT_FALSE(limited.empty());
  EXPECT_EQ(limited[0].limit.key, "max-memory");
  EXPECT_EQ(limited[0].connection, 1u);
  EXPECT_GT(small_pipeline.messages().refused_by_limit().at("max-memory"), 500u);
  // Another one notices nothing.
  small_script.load(kOther, ms(1), test::small_plan(1));
  EXPECT_TRUE(small_pipeline.messages().took());
  small_script.begin(kOther, ms(1), 5, 1);
  EXPECT_TRUE(small_pipeline.messages().took());
  // What ends makes room.
  for (ExecutionHandle handle = 1; handle <= 1000; ++handle) small_script.end(kProcess, ms(2), handle);
  small_script.begin(kProcess, ms(3), 2000, 0);
  EXPECT_TRUE(small_pipeline.messages().took());
}

TEST_F(SmallPipelineTest, PlansBeyondTheQuotaAreRefusedAndTold) {
  small_script.hello(kProcess, 1, us(1));
  for (PlanId id = 1; id <= 6; ++id) {
    small_script.load(kProcess, ms(1), test::small_plan(id, static_cast<std::uint32_t>(id)));
    EXPECT_EQ(small_pipeline.messages().took(), id <= 4) << id;
  }
  EXPECT_EQ(small_pipeline.messages().refused_by_limit().at("user-plans"), 2u);
  small_script.unload_plan(kProcess, ms(2), 1);
  small_script.load(kProcess, ms(3), test::small_plan(7, 7));
  EXPECT_TRUE(small_pipeline.messages().took());
}

TEST_F(SmallPipelineTest, MarksWithoutRoomAreLostAndCounted) {
  small_script.hello(kProcess, 1, us(1));
  registration::ActivityRecords log;
  log.process = kProcess;
  log.tid = 44;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    tailor_log_record record{};
    record.tsc = static_cast<std::uint64_t>(ms(1)) + i;
    record.kind = i % 2 == 0 ? TAILOR_LOG_COMPONENT_BEGIN : TAILOR_LOG_COMPONENT_END;
    record.id = 1;
    log.records.push_back(record);
  }
  small_pipeline.on_activity(log);
  small_pipeline.flush(ms(9));
  EXPECT_EQ(sink.accounting.at(kProcess).log_lost, 200'000u);
  EXPECT_LE(small_pipeline.shares().bytes(), std::size_t{3} << 20);
}

}  // namespace
}  // namespace tailor::pipeline
