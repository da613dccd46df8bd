// A share of the executions is sampled: samples of the others are counted, and nothing else is kept of them.
#include <linux/perf_event.h>

#include <cmath>
#include <cstring>
#include <string>

#include "daemon/capture/decode/told_record.h"
#include "daemon/profile/draw.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

constexpr profile::DrawnPpm kHalf = 500'000;

class DrawnExecutionsTest : public PipelineTest {
 protected:
  DrawnExecutionsTest() {
    profile::RecordingInfo info;
    info.drawn_ppm = kHalf;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false});
    pipeline.on_recording(info);
    start_engine();
  }

  // An identity that is drawn, or is not.
  static std::string id(bool drawn, char number) {
    std::string bytes(16, number);
    bytes[7] = drawn ? '\x10' : '\xf0';  // the highest byte of the number
    return bytes;
  }
  void begin(TimeNs time, ExecutionHandle handle, const std::string& identity,
             const std::string& leader = "") {
    script.say(kProcess, time, [&](v1::AgentMessage& m) {
      m.mutable_execution_begin()->set_handle(handle);
      m.mutable_execution_begin()->set_id(identity);
      m.mutable_execution_begin()->set_plan_id(1);
      if (leader.empty()) return;
      v1::Label* label = m.mutable_execution_begin()->add_labels();
      label->set_key("leader_execution");
      for (const unsigned char byte : leader) {
        constexpr char kDigits[] = "0123456789abcdef";
        *label->mutable_value() += kDigits[byte >> 4];
        *label->mutable_value() += kDigits[byte & 0xF];
      }
    });
  }
  void finish() {
    script.read();
    script.settle(kProcess, ms(50));
    pipeline.flush(ms(50));
  }
  bool sums_add_up() {
    const profile::Accounting all = pipeline.total();
    return all.received ==
           all.attributed + all.unattributed + all.filtered + all.late + all.counted_by_other + all.not_drawn;
  }
};

TEST_F(DrawnExecutionsTest, SamplesOfOthersAreCountedAndNotKept) {
  begin(us(10), 1, id(true, 'a'));
  begin(us(10), 2, id(false, 'b'));
  script.work(kProcess, 42, us(20), us(100), 1, 1);
  script.work(kProcess, 43, us(20), us(100), 2, 1);
  for (int i = 0; i < 5; ++i) {
    script.sample(42, 42, us(30 + i), kCode + 16);
    script.sample(42, 43, us(30 + i), kCode + 16);
  }
  script.sample(42, 43, us(200), kCode + 16);  // outside of executions
  finish();
  EXPECT_EQ(sink.samples_of(kProcess, 42).size(), 5u);
  ASSERT_EQ(sink.samples_of(kProcess, 43).size(), 1u) << "what runs outside of executions stays";
  EXPECT_EQ(sink.samples_of(kProcess, 43).front().time, us(200));
  const profile::Accounting all = pipeline.total();
  EXPECT_EQ(all.received, 11u);
  EXPECT_EQ(all.not_drawn, 5u);
  EXPECT_EQ(all.not_drawn_ns, 5000u);
  EXPECT_EQ(all.on_cpu_ns, 11'000u) << "they stand for time that was used";
  EXPECT_TRUE(sums_add_up());
  EXPECT_TRUE((sink.executions[{kProcess, 1}].drawn));
  EXPECT_FALSE((sink.executions[{kProcess, 2}].drawn)) << "it is listed, and said not to be drawn";
}

TEST_F(DrawnExecutionsTest, WorkersAreDrawnWithTheirLeader) {
  begin(us(10), 1, id(false, 'a'), id(true, 'l'));
  begin(us(10), 2, id(true, 'b'), id(false, 'm'));
  script.work(kProcess, 42, us(20), us(100), 1, 1);
  script.work(kProcess, 43, us(20), us(100), 2, 1);
  script.sample(42, 42, us(30), kCode + 16);
  script.sample(42, 43, us(30), kCode + 16);
  finish();
  EXPECT_EQ(sink.samples_of(kProcess, 42).size(), 1u);
  EXPECT_EQ(sink.samples_of(kProcess, 43).size(), 0u);
}

TEST_F(DrawnExecutionsTest, WhatWasDroppedWhereItWasTakenIsCounted) {
  capture::RingLayout layout;
  layout.ring = 5;
  layout.pid = 42;
  layout.formats.push_back({});
  layout.formats.back().sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  layout.formats.back().sample_id_all = true;
  pipeline.on_ring(layout);
  pipeline.on_chunk({5, capture::not_drawn_record(layout, us(40), 7, 7000)});
  finish();
  const profile::Accounting all = pipeline.total();
  EXPECT_EQ(all.not_drawn, 7u);
  EXPECT_EQ(all.not_drawn_ns, 7000u);
  EXPECT_EQ(all.on_cpu_ns, 7000u);
  EXPECT_EQ(all.undecoded, 0u);
  EXPECT_TRUE(sums_add_up());
}

TEST_F(DrawnExecutionsTest, NothingIsKeptOfExecutionsThatAreOver) {
  for (ExecutionHandle handle = 1; handle <= 1000; ++handle) {
    begin(us(10), handle, id(false, 'a'));
    script.end(kProcess, us(20), handle);
  }
  finish();
  pipeline.flush(ms(60));
  EXPECT_EQ(pipeline.processes().find(kProcess)->not_drawn.size(), 0u);
}

// Executions without tags say why nobody knows whose a sample is.
TEST_F(DrawnExecutionsTest, ExecutionsWithoutTagsAreTheReason) {
  for (const ExecutionHandle handle : {ExecutionHandle{1}, ExecutionHandle{2}}) {
    script.say(kProcess, us(10), [&](v1::AgentMessage& m) {
      m.mutable_execution_begin()->set_handle(handle);
      m.mutable_execution_begin()->set_id(id(true, static_cast<char>('a' + handle)));
      m.mutable_execution_begin()->set_plan_id(1);
      m.mutable_execution_begin()->set_tags_off(handle == 2);
    });
    script.work(kProcess, 41 + static_cast<std::int32_t>(handle), us(20), us(100), handle, 1);
  }
  for (const std::int32_t tid : {42, 43}) script.sample(42, tid, us(30), 0x900000, 0x1234);
  script.sample(42, 43, us(31), kCode + 16);
  finish();
  EXPECT_EQ(sink.samples_of(kProcess, 42).front().attribution.reason, profile::Reason::kTagCheckFailed);
  const auto untagged = sink.samples_of(kProcess, 43);
  ASSERT_EQ(untagged.size(), 2u);
  EXPECT_EQ(untagged.front().attribution.reason, profile::Reason::kTagsOff);
  EXPECT_EQ(untagged.back().attribution.how, profile::How::kCode) << "generated code is known all the same";
  EXPECT_TRUE((sink.executions[{kProcess, 2}].tags_off));
}

// As often as asked for, of identities as agents make them.
TEST(Draw, IsTheShare) {
  constexpr int kMany = 200'000;
  for (const profile::DrawnPpm share : {1000u, 125'000u, 500'000u, 999'000u}) {
    int drawn = 0;
    for (std::uint64_t i = 0; i < kMany; ++i) {
      std::uint64_t mixed = 0x1234'5678'9abc'def0 + i;
      mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
      mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
      mixed ^= mixed >> 31;
      ExecutionId id{};
      std::memcpy(id.bytes.data(), &mixed, sizeof mixed);
      drawn += profile::is_drawn(id, share);
    }
    const double p = share / 1e6;
    EXPECT_NEAR(drawn, kMany * p, 4 * std::sqrt(kMany * p * (1 - p))) << share;
  }
  EXPECT_TRUE(profile::is_drawn(ExecutionId{}, profile::kAllDrawn));
}

}  // namespace
}  // namespace tailor::pipeline
