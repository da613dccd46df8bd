// Watermark, accounting, and who has a pid.
#include "daemon/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include "tailor/tag.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

using profile::How;
using profile::Reason;

TEST_F(PipelineTest, ASampleWaitsForTheDelayAndTheSettlement) {
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.read();
  script.settle(kProcess, ms(11));
  pipeline.advance(ms(209));
  EXPECT_TRUE(sink.samples.empty());
  pipeline.advance(ms(211));
  ASSERT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.samples[0].attribution.how, How::kCode);
  EXPECT_EQ(sink.samples[0].process, kProcess);
  EXPECT_EQ(sink.samples[0].weight, 1000u);

  script.sample(42, 42, ms(20), kCode + 16);
  script.read();
  pipeline.advance(ms(400));
  EXPECT_EQ(sink.samples.size(), 1u) << "the agent has settled up to 11 ms only";
  script.settle(kProcess, ms(21));
  pipeline.advance(ms(400));
  EXPECT_EQ(sink.samples.size(), 2u);
}

TEST_F(PipelineTest, ASampleWaitsForTheReadersHorizon) {
  start_engine();
  script.settle(kProcess, ms(500));
  script.sample(42, 42, ms(10), kCode + 16);
  script.read(ms(9));
  pipeline.advance(ms(300));
  EXPECT_TRUE(sink.samples.empty());
  pipeline.on_round(ms(11));
  pipeline.advance(ms(300));
  EXPECT_EQ(sink.samples.size(), 1u);
}

TEST_F(PipelineTest, AnAgentThatIsStuckHoldsTheOthersUpForTwoSecondsAtMost) {
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.read();
  pipeline.advance(ms(2005));
  EXPECT_TRUE(sink.samples.empty());
  pipeline.advance(ms(2011));
  EXPECT_EQ(sink.samples.size(), 1u);
  EXPECT_GT(pipeline.stats().without_settlement, 0u);
}

TEST_F(PipelineTest, ADeadAgentHoldsNobodyUp) {
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.read();
  script.gone(kProcess, registration::GoneReason::kHangup);
  pipeline.advance(ms(211));
  ASSERT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.samples[0].attribution.how, How::kCode) << "what it said still holds";
}

TEST_F(PipelineTest, AFlushGivesOutEverythingUpToNow) {
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.read();
  pipeline.flush(ms(11));
  EXPECT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.watermark, ms(11));
}

TEST_F(PipelineTest, TheAccountingAddsUp) {
  start_engine();
  script.settle(kProcess, ms(1000));
  script.sample(42, 42, ms(10), kCode + 16);
  script.sample(42, 42, ms(11), 0x7f0000000000);
  script.read();
  pipeline.advance(ms(300));
  script.sample(42, 42, ms(12), kCode + 16);  // late
  script.sample(77, 77, ms(201), 0x400000);   // of a process that nobody asked for
  script.record(test::RecordBytes(PERF_RECORD_LOST, 0).u64(0).u64(5), 42, ms(202));
  script.read();
  pipeline.advance(ms(600));
  const profile::Accounting& mine = sink.accounting.at(kProcess);
  EXPECT_EQ(mine.received, 3u);
  EXPECT_EQ(mine.attributed, 1u);
  EXPECT_EQ(mine.unattributed, 1u);
  EXPECT_EQ(mine.late, 1u);
  EXPECT_EQ(mine.messages, 2u);
  const profile::Accounting& nobodys = sink.accounting.at(ProcessId{});
  EXPECT_EQ(nobodys.received, 1u);
  EXPECT_EQ(nobodys.filtered, 1u);
  EXPECT_EQ(nobodys.lost_ring, 5u);
  ASSERT_EQ(nobodys.cpus.size(), 1u);
  EXPECT_EQ(nobodys.cpus[0].lost_ring, 5u);
  EXPECT_EQ(sink.samples.size(), 2u);
}

// Whatever a recording can lose or leave out is in the accounting that the profile gets, and it adds up.
TEST_F(PipelineTest, WhatTheReaderRemovedAndCouldNotReadIsAccountedFor) {
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.record(test::RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(3), 42, ms(11));
  script.record(test::RecordBytes(PERF_RECORD_LOST, 0).u64(0), 42, ms(11));  // without its number
  script.read();
  pipeline.on_chunk({0, std::vector<std::byte>(24)});  // a record of no size
  pipeline.on_capture_ended({kProcess, ms(20), true, 7, 5, 2});
  pipeline.on_capture_ended({kProcess, ms(30), false, 1, 1, 0});
  pipeline.flush(ms(40));
  const profile::Accounting& nobodys = sink.accounting.at(ProcessId{});
  EXPECT_EQ(nobodys.received, 6u);
  EXPECT_EQ(nobodys.filtered, 6u);
  EXPECT_EQ(nobodys.records_filtered, 8u);
  EXPECT_EQ(nobodys.lost_hardware, 3u);
  EXPECT_EQ(nobodys.cut_bytes, 24u);
  EXPECT_EQ(nobodys.undecoded, 1u);
  EXPECT_EQ(sink.accounting.at(kProcess).broken_rings, 2u);
  const profile::Accounting total = pipeline.total();
  EXPECT_EQ(total.received, total.attributed + total.unattributed + total.filtered + total.late);
  EXPECT_EQ(total.received, 7u);
}

TEST_F(PipelineTest, TheTimeBetweenThrottleAndUnthrottleIsAGap) {
  const auto throttle = [&](std::uint32_t type, TimeNs time, std::uint64_t stream) {
    script.record(test::RecordBytes(type, 0).u64(static_cast<std::uint64_t>(time)).u64(1).u64(stream), 42,
                  time);
  };
  start_engine();
  throttle(PERF_RECORD_THROTTLE, ms(10), 7);
  throttle(PERF_RECORD_THROTTLE, ms(11), 8);  // overlaps: the ring stands still once
  throttle(PERF_RECORD_UNTHROTTLE, ms(13), 7);
  script.read();
  throttle(PERF_RECORD_UNTHROTTLE, ms(14), 8);
  throttle(PERF_RECORD_UNTHROTTLE, ms(15), 8);  // of nothing
  throttle(PERF_RECORD_THROTTLE, ms(20), 7);    // nobody says when it ended
  script.read();
  pipeline.advance(ms(22));
  EXPECT_EQ(sink.accounting.at(ProcessId{}).gap_ns, static_cast<std::uint64_t>(ms(4)));
  pipeline.on_ring_closed(0);
  pipeline.flush(ms(30));
  const profile::Accounting& nobodys = sink.accounting.at(ProcessId{});
  EXPECT_EQ(nobodys.throttled, 3u);
  EXPECT_EQ(nobodys.gap_ns, static_cast<std::uint64_t>(ms(4 + 2)));
  ASSERT_EQ(nobodys.cpus.size(), 1u);
  EXPECT_EQ(nobodys.cpus[0].throttled, 3u);
  EXPECT_EQ(nobodys.cpus[0].gap_ns, nobodys.gap_ns);
}

TEST_F(PipelineTest, AThreadThatEndedIsThrottledNoMore) {
  start_engine();
  script.record(test::RecordBytes(PERF_RECORD_THROTTLE, 0).u64(0).u64(1).u64(7), 42, ms(10));
  script.record(test::RecordBytes(PERF_RECORD_EXIT, 0)
                    .u32(42)
                    .u32(1)
                    .u32(42)
                    .u32(1)
                    .u64(static_cast<std::uint64_t>(ms(12))),
                42, ms(12));
  script.read();
  pipeline.on_ring_closed(0);
  pipeline.flush(ms(30));
  EXPECT_EQ(sink.accounting.at(ProcessId{}).throttled, 1u);
  EXPECT_LE(sink.accounting.at(ProcessId{}).gap_ns, static_cast<std::uint64_t>(ms(12)));
}

// The kernel frees the memory of a process, and samples that, after it has told of its end.
TEST_F(PipelineTest, SamplesAfterTheEndOfAProcessAreAddedToItsAccounting) {
  start_engine();
  script.record(test::RecordBytes(PERF_RECORD_FORK, 0)
                    .u32(60)
                    .u32(42)
                    .u32(60)
                    .u32(42)
                    .u64(static_cast<std::uint64_t>(ms(9))),
                42, ms(9));
  script.sample(60, 60, ms(10), 0x400000);
  script.record(test::RecordBytes(PERF_RECORD_EXIT, 0)
                    .u32(60)
                    .u32(1)
                    .u32(60)
                    .u32(1)
                    .u64(static_cast<std::uint64_t>(ms(11))),
                60, ms(11));
  script.read();
  for (const int time : {20, 30, 40}) pipeline.flush(ms(time));
  script.sample(60, 60, ms(50), 0x400000);
  script.read();
  pipeline.flush(ms(60));
  EXPECT_EQ((sink.accounting[{60, 0}].received), 2u);
  EXPECT_EQ(pipeline.total().received, 2u);
}

TEST_F(PipelineTest, AWaitThatIsOpenAtTheEndLastsUntilThen) {
  profile::RecordingInfo info;
  info.sources.push_back({0, "off-cpu", profile::Unit::kNsOffCpu, 1, false});
  pipeline.on_recording(info);
  start_engine();
  script.sample(42, 42, ms(10), kCode + 16);
  script.sample(43, 43, ms(11), kCode + 16);  // of a process that is still sampled
  script.read();
  pipeline.on_capture_ended({kProcess, ms(20), true, 0, 0, 0});  // by other events it goes on
  pipeline.on_known_process({kOther, "other"});
  pipeline.flush(ms(25));
  EXPECT_TRUE(sink.samples.empty());
  pipeline.on_capture_ended({kProcess, ms(30), false, 0, 0, 0});
  pipeline.flush(ms(29));
  EXPECT_TRUE(sink.samples.empty()) << "the thread may still return";
  pipeline.flush(ms(31));
  ASSERT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.samples[0].tid, 42);
  EXPECT_EQ(sink.samples[0].time, ms(30));
  EXPECT_EQ(sink.samples[0].weight, static_cast<std::uint64_t>(ms(20)));
  pipeline.on_ring_closed(0);
  pipeline.on_capture_ended({kOther, ms(40), false, 0, 0, 0});
  pipeline.flush(ms(41));
  ASSERT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(sink.samples[1].weight, static_cast<std::uint64_t>(ms(29)));
  const profile::Accounting total = pipeline.total();
  EXPECT_EQ(total.received, 2u);
  EXPECT_EQ(total.attributed + total.unattributed, 2u);
}

TEST_F(PipelineTest, BeforeTheHelloTheEngineStarts) {
  pipeline.on_known_process({kProcess, "engine"});
  script.sample(42, 42, ms(1), 0x400000);
  script.read();
  script.hello(kProcess, 1, ms(5));
  script.sample(42, 42, ms(6), 0x400000);
  script.read();
  pipeline.flush(ms(10));
  ASSERT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(sink.samples[0].attribution.engine_component, process::kStartComponent);
  EXPECT_EQ(sink.samples[1].attribution.reason, Reason::kUnknownUserCode);
  EXPECT_EQ(sink.samples[0].process, kProcess);
  EXPECT_EQ(sink.processes.at(kProcess).comm, "engine");
}

TEST_F(PipelineTest, TagsOfSharedCodeAreRead) {
  start_engine();
  script.sample(42, 42, ms(1), 0x7f0000000000, tailor_tag_make(test::kScriptKey, 1, 1, 2, 3));
  script.read();
  pipeline.flush(ms(2));
  EXPECT_EQ(sink.samples.at(0).attribution.how, How::kTag);
}

TEST_F(PipelineTest, AnotherProcessWithTheSamePidIsAnotherProcess) {
  start_engine();
  script.sample(42, 42, ms(1), kCode + 16);
  script.read();
  pipeline.advance(ms(2));
  script.gone(kProcess, registration::GoneReason::kProcessExit);
  const ProcessId next{42, 99};
  script.hello(next, 2, ms(5), "s2");
  script.sample(42, 42, ms(6), kCode + 16);
  script.read();
  pipeline.flush(ms(10));
  ASSERT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(sink.samples[0].process, kProcess);
  EXPECT_EQ(sink.samples[0].attribution.how, How::kCode);
  EXPECT_EQ(sink.samples[1].process, next);
  EXPECT_EQ(sink.samples[1].attribution.how, How::kUnattributed);
}

TEST_F(PipelineTest, AForkedChildThatRegistersIsOneProcess) {
  start_engine();
  script.record(test::RecordBytes(PERF_RECORD_FORK, 0).u32(60).u32(42).u32(60).u32(42).u64(ms(3)), 42, ms(3));
  script.sample(60, 60, ms(4), 0x400000);
  script.read();
  script.hello({60, 5}, 2, ms(5), "s2");
  script.sample(60, 60, ms(6), 0x400000);
  script.read();
  pipeline.flush(ms(10));
  EXPECT_EQ(sink.samples_of({60, 5}).size(), 2u);
}

TEST_F(PipelineTest, NamesOfThreadsAndProcesses) {
  start_engine();
  script.record(test::RecordBytes(PERF_RECORD_COMM, 0).u32(42).u32(42).text("weft"), 42, ms(1));
  script.record(test::RecordBytes(PERF_RECORD_COMM, 0).u32(42).u32(44).text("worker"), 42, ms(1));
  script.read();
  pipeline.flush(ms(2));
  EXPECT_EQ(sink.processes.at(kProcess).comm, "weft");
  EXPECT_EQ((sink.threads.at({kProcess, 44})), "worker");
}

TEST_F(PipelineTest, TimesOfPerfsOwnClockGoThroughTheTsc) {
  start_engine();
  script.open(-1, capture::RecordClock::kPerf);
  EXPECT_EQ(pipeline.stats().refused_rings, 1u) << "perf's clock is not known yet";
  clock::Conversion behind;  // perf's clock is 3 ms behind the TSC's zero
  behind.mult = 1;
  behind.base_ns = -ms(3);
  pipeline.on_perf_clock(behind);
  script.open(-1, capture::RecordClock::kPerf);
  EXPECT_EQ(pipeline.stats().refused_rings, 1u);
  script.sample(42, 42, ms(7), kCode + 16);
  script.read();
  pipeline.flush(ms(20));
  ASSERT_EQ(sink.samples.size(), 1u);
  EXPECT_EQ(sink.samples[0].time, ms(10));
}

TEST_F(PipelineTest, ASenselessPerfClockIsRefused) {
  clock::Conversion senseless;
  pipeline.on_perf_clock(senseless);
  senseless.mult = 1;
  senseless.shift = 64;
  pipeline.on_perf_clock(senseless);
  EXPECT_EQ(pipeline.take_problems().size(), 2u);
}

TEST_F(PipelineTest, GarbageIsCountedAndHarmless) {
  start_engine();
  capture::RingChunk garbage;
  for (int i = 0; i < 4096; ++i) garbage.bytes.push_back(static_cast<std::byte>(i * 37));
  pipeline.on_chunk(garbage);
  garbage.ring = 9;
  pipeline.on_chunk(garbage);
  pipeline.on_ring({.ring = 3});
  script.say(kOther, ms(1), [](v1::AgentMessage&) {});
  script.say(kProcess, ms(1), [](v1::AgentMessage&) {});
  script.load(kProcess, ms(1), v1::Plan());
  pipeline.flush(ms(2));
  EXPECT_EQ(sink.accounting.at(kProcess).messages_rejected, 2u);
  EXPECT_EQ(pipeline.stats().refused_rings, 1u);
  EXPECT_GE(pipeline.take_problems().size(), 4u);
}

// weft has its tables made by another program.
TEST_F(PipelineTest, WhatAComponentStartsIsItsUntilItSpeaksForItself) {
  start_engine();
  script.say(kProcess, us(2), [](v1::AgentMessage& m) {
    m.mutable_component_declare()->set_id(3);
    m.mutable_component_declare()->set_name("load");
  });
  registration::ActivityRecords log;
  log.process = kProcess;
  log.tid = 42;
  for (auto [kind, time] :
       {std::pair(TAILOR_LOG_COMPONENT_BEGIN, ms(2)), {TAILOR_LOG_COMPONENT_END, ms(6)}}) {
    tailor_log_record record{};
    record.tsc = static_cast<std::uint64_t>(time);
    record.kind = static_cast<std::uint16_t>(kind);
    record.id = 3;
    log.records.push_back(record);
  }
  pipeline.on_activity(log);
  const auto fork = [&](std::uint32_t child, std::uint32_t parent, TimeNs time) {
    script.record(test::RecordBytes(PERF_RECORD_FORK, 0)
                      .u32(child)
                      .u32(parent)
                      .u32(child)
                      .u32(parent)
                      .u64(static_cast<std::uint64_t>(time)),
                  static_cast<std::int32_t>(parent), time);
  };
  fork(60, 42, ms(3));  // in the component
  fork(61, 60, ms(4));  // by what it started
  fork(62, 42, ms(7));  // after it
  for (std::int32_t pid : {60, 61, 62}) script.sample(pid, pid, ms(8), 0x400000);
  script.read();
  pipeline.flush(ms(9));
  ASSERT_EQ(sink.samples.size(), 3u);
  for (const profile::SampleRecord& sample : sink.samples) {
    EXPECT_EQ(sample.attribution.engine_component,
              sample.process.pid == 62 ? 0u : process::kStartedByComponent)
        << sample.process.pid;
  }
}

}  // namespace
}  // namespace tailor::pipeline
