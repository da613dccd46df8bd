#include "daemon/capture/decode/off_cpu.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include "daemon/capture/decode/register_masks.h"

namespace tailor::capture {
namespace {

std::vector<profile::Source> sources() {
  profile::Source clock{0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false};
  profile::Source away{1, "off-cpu", profile::Unit::kNsOffCpu, 1, false};
  return {clock, away};
}

Batch sample_of(std::int32_t tid, TimeNs time, std::uint16_t source) {
  Batch batch;
  batch.words = {0x10, 0x20};
  Event& event = batch.events.emplace_back();
  event.tid = tid;
  event.time = time;
  event.source = source;
  event.user_ip = 0x5000;
  event.chain_size = 2;
  return batch;
}

Event of_kind(Kind kind, std::int32_t tid, TimeNs time) {
  Event event;
  event.kind = kind;
  event.tid = tid;
  event.time = time;
  return event;
}

TEST(OffCpu, AWaitBecomesASampleOfItsDuration) {
  OffCpuTracker tracker;
  tracker.set_sources(sources());
  Batch away = sample_of(7, 100, 1);
  EXPECT_TRUE(tracker.absorb(away, away.events[0]));
  EXPECT_EQ(tracker.returned(of_kind(Kind::kSwitchIn, 8, 150)), nullptr);
  const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->events[0].weight, 250u);
  EXPECT_EQ(wait->events[0].time, 350);
  EXPECT_EQ(wait->events[0].user_ip, 0x5000u);
  EXPECT_EQ(wait->chain(wait->events[0])[1], 0x20u);
  EXPECT_EQ(tracker.returned(of_kind(Kind::kSwitchIn, 7, 400)), nullptr);
}

TEST(OffCpu, OneThatCouldHaveGoneOnIsToldApart) {
  OffCpuTracker tracker;
  tracker.set_sources(sources());
  for (bool preempted : {true, false}) {
    Batch away = sample_of(7, 100, 1);
    EXPECT_TRUE(tracker.absorb(away, away.events[0]));
    Event out = of_kind(Kind::kSwitchOut, 7, 100);
    out.flag_preempted = preempted;
    tracker.left(out);
    tracker.left(of_kind(Kind::kSwitchOut, 8, 100));  // not seen leaving
    const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
    ASSERT_NE(wait, nullptr);
    EXPECT_EQ(wait->events[0].flag_preempted, preempted);
  }
}

Batch slot_of(std::int32_t tid, TimeNs time, std::uint64_t tag) {
  Batch batch;
  batch.words = {tag};
  Event& event = batch.events.emplace_back();
  event.tid = tid;
  event.time = time;
  event.source = 1;
  event.regs_mask = register_bit(kSlotPlace);
  return batch;
}

Batch sample_with_registers(std::int32_t tid, TimeNs time) {
  Batch batch = sample_of(tid, time, 1);
  Event& event = batch.events[0];
  event.regs_offset = 2;
  event.regs_mask = register_bit(PERF_REG_X86_IP) | register_bit(PERF_REG_X86_R15);
  batch.words.insert(batch.words.end(), {0x5000, 0xf15});
  return batch;
}

// A tag in memory comes by a sample of its own, on either side of that of the switch.
TEST(OffCpu, ASlotGoesToTheSwitchItBelongsTo) {
  for (bool slot_first : {true, false}) {
    OffCpuTracker tracker;
    tracker.set_sources(sources());
    Batch away = sample_with_registers(7, 100), slot = slot_of(7, slot_first ? 99 : 101, 0x7a6);
    Batch& first = slot_first ? slot : away;
    Batch& second = slot_first ? away : slot;
    EXPECT_TRUE(tracker.absorb(first, first.events[0]));
    EXPECT_TRUE(tracker.absorb(second, second.events[0]));
    const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
    ASSERT_NE(wait, nullptr);
    const Event& event = wait->events[0];
    EXPECT_EQ(wait->reg(event, kSlotPlace), 0x7a6u);
    EXPECT_EQ(wait->reg(event, PERF_REG_X86_IP), 0x5000u);
    EXPECT_EQ(wait->reg(event, PERF_REG_X86_R15), 0xf15u);
    EXPECT_EQ(wait->chain(event)[1], 0x20u);
    EXPECT_EQ(tracker.counts().abandoned, 0u);
  }
}

// What the engine says that it waits for counts where the thread waited, and not where it only lost the CPU.
TEST(OffCpu, TheEnginesWordIsOfAWait) {
  for (bool preempted : {false, true}) {
    OffCpuTracker tracker;
    tracker.set_sources(sources());
    Batch away = sample_with_registers(7, 100), slot = slot_of(7, 99, 0x7a6);
    slot.events[0].regs_mask |= register_bit(kWaitPlace);
    slot.words.push_back(0x0A00000B);
    EXPECT_TRUE(tracker.absorb(slot, slot.events[0]));
    EXPECT_TRUE(tracker.absorb(away, away.events[0]));
    Event out = of_kind(Kind::kSwitchOut, 7, 100);
    out.flag_preempted = preempted;
    tracker.left(out);
    const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
    ASSERT_NE(wait, nullptr);
    EXPECT_EQ(wait->reg(wait->events[0], kSlotPlace), 0x7a6u);
    EXPECT_EQ(wait->events[0].engine_wait, preempted ? 0u : 0x0A00000Bu);
  }
}

// For whom the thread works comes with its tag, and there may be none without a state.
TEST(OffCpu, TheStateOfASlotGoesAlong) {
  for (bool slot_first : {true, false}) {
    OffCpuTracker tracker;
    tracker.set_sources(sources());
    Batch away = sample_with_registers(7, 100), slot = slot_of(7, slot_first ? 99 : 101, 0x7a6);
    slot.events[0].regs_mask |= register_bit(kWaitPlace) | kStatePlaces;
    slot.words.insert(slot.words.end(), {0x0B, 0xE1, 0xA1, 0x400000007});
    Batch& first = slot_first ? slot : away;
    Batch& second = slot_first ? away : slot;
    EXPECT_TRUE(tracker.absorb(first, first.events[0]));
    EXPECT_TRUE(tracker.absorb(second, second.events[0]));
    const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
    ASSERT_NE(wait, nullptr);
    const Event& event = wait->events[0];
    const std::uint64_t* state = wait->state(event);
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(state[0], 0xE1u);
    EXPECT_EQ(state[1], 0xA1u);
    EXPECT_EQ(state[2], 0x400000007u);
    EXPECT_EQ(wait->reg(event, kSlotPlace), 0x7a6u);
    EXPECT_EQ(wait->reg(event, PERF_REG_X86_R15), 0xf15u);
    EXPECT_EQ(event.engine_wait, 0x0Bu);
    EXPECT_EQ(wait->chain(event)[1], 0x20u);
  }
}

TEST(OffCpu, ASlotWithoutItsSwitchIsNotTheNextOnes) {
  OffCpuTracker tracker;
  tracker.set_sources(sources());
  Batch slot = slot_of(7, 99, 0x7a6);
  EXPECT_TRUE(tracker.absorb(slot, slot.events[0]));
  EXPECT_EQ(tracker.returned(of_kind(Kind::kSwitchIn, 7, 150)), nullptr);
  Batch away = sample_with_registers(7, 200);
  EXPECT_TRUE(tracker.absorb(away, away.events[0]));
  const Batch* wait = tracker.returned(of_kind(Kind::kSwitchIn, 7, 350));
  ASSERT_NE(wait, nullptr);
  EXPECT_FALSE(wait->reg(wait->events[0], kSlotPlace).has_value());
}

TEST(OffCpu, OtherSamplesPassBy) {
  OffCpuTracker tracker;
  Batch clock = sample_of(7, 100, 0);
  Batch away = sample_of(7, 100, 1);
  EXPECT_FALSE(tracker.absorb(away, away.events[0])) << "no source is known yet";
  tracker.set_sources(sources());
  EXPECT_FALSE(tracker.absorb(clock, clock.events[0]));
  EXPECT_FALSE(tracker.absorb(away, of_kind(Kind::kSwitchOut, 7, 5)));
}

TEST(OffCpu, WaitsAreCutAtTheEndOfARecording) {
  OffCpuTracker tracker;
  tracker.set_sources(sources());
  for (std::int32_t tid : {9, 7, 8}) {
    Batch away = sample_of(tid, 100 + tid, 1);
    away.events[0].pid = tid == 8 ? 8 : 1;
    EXPECT_TRUE(tracker.absorb(away, away.events[0]));
  }
  EXPECT_TRUE(tracker.cut(1, 106).empty()) << "they left after that";
  const std::vector<Batch> cut = tracker.cut(1, 200);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].events[0].tid, 7);
  EXPECT_EQ(cut[0].events[0].weight, 93u);
  EXPECT_EQ(cut[0].events[0].time, 200);
  EXPECT_EQ(cut[1].events[0].tid, 9);
  EXPECT_EQ(tracker.waiting(), 1u);
  EXPECT_EQ(tracker.cut(OffCpuTracker::kAllProcesses, 200).size(), 1u);
  EXPECT_EQ(tracker.counts().cut, 3u);
}

TEST(OffCpu, WaitsWithoutAReturnAreCounted) {
  OffCpuTracker tracker;
  tracker.set_sources(sources());
  Batch away = sample_of(7, 100, 1);
  tracker.absorb(away, away.events[0]);
  tracker.absorb(away, away.events[0]);
  EXPECT_EQ(tracker.counts().abandoned, 1u);
  EXPECT_EQ(tracker.waiting(), 1u);
  tracker.ended(of_kind(Kind::kExit, 7, 200));
  EXPECT_EQ(tracker.counts().abandoned, 2u);
  EXPECT_EQ(tracker.waiting(), 0u);
}

}  // namespace
}  // namespace tailor::capture
