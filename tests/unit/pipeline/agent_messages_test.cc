// Executions, reconnects, and the order in which the profile hears of things.
#include <gtest/gtest.h>

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

TEST_F(PipelineTest, WhatRunsWhenTheProcessEndsHasEnded) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  pipeline.advance(ms(9));
  script.gone(kProcess, registration::GoneReason::kProcessExit);
  EXPECT_EQ((sink.executions.at({kProcess, 5}).end), ms(9));
  EXPECT_NE((sink.executions.at({kProcess, 5}).error), "");
  EXPECT_EQ(sink.unloads, std::vector<CodeId>{11});
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

}  // namespace
}  // namespace tailor::pipeline
