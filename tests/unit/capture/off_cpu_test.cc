#include "daemon/capture/off_cpu.h"

#include <gtest/gtest.h>

namespace tailor::capture {
namespace {

std::vector<Source> sources() {
  Source clock{0, "cpu-clock", Unit::kNsOnCpu, 1000, false};
  Source away{1, "off-cpu", Unit::kNsOffCpu, 1, false};
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

TEST(OffCpu, OtherSamplesPassBy) {
  OffCpuTracker tracker;
  Batch clock = sample_of(7, 100, 0);
  Batch away = sample_of(7, 100, 1);
  EXPECT_FALSE(tracker.absorb(away, away.events[0])) << "no source is known yet";
  tracker.set_sources(sources());
  EXPECT_FALSE(tracker.absorb(clock, clock.events[0]));
  EXPECT_FALSE(tracker.absorb(away, of_kind(Kind::kSwitchOut, 7, 5)));
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
