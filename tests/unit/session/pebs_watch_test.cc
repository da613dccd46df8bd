#include "daemon/pipeline/pebs_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "daemon/session/pebs_times.h"

namespace tailor::session {
namespace {

using clock::RecordTimes;

constexpr std::uint64_t kPeriod = 300'007;  // cycles: 94 us at 3.2 GHz

// What the kernel writes on one CPU: threads take turns of 2 ms, each with a counter of its own; the hardware
// buffer is drained when it is full and at each switch.
class Cpu {
 public:
  explicit Cpu(bool own_times, std::size_t buffer = 64) : own_times_(own_times), buffer_(buffer) {}

  // One turn of a thread.
  std::vector<capture::Event> turn(std::int32_t tid) {
    std::vector<capture::Event> events;
    const TimeNs end = now_ + 2'000'000;
    TimeNs& left = left_.try_emplace(tid, 94'000 / (tid + 1)).first->second;
    std::size_t undrained = 0;
    while (now_ + left < end) {
      now_ += left;
      left = 94'000 + static_cast<TimeNs>(random_() % 2000);
      events.push_back(sample(tid));
      if (++undrained == buffer_) drain(events, std::exchange(undrained, 0));
    }
    left -= end - now_;
    now_ = end;
    drain(events, undrained);
    return events;
  }

 private:
  capture::Event sample(std::int32_t tid) const {
    capture::Event event;
    event.time = now_;
    event.pid = 1;
    event.tid = tid;
    event.weight = kPeriod;
    return event;
  }
  void drain(std::vector<capture::Event>& events, std::size_t count) {
    if (own_times_) return;
    TimeNs time = now_;
    for (capture::Event& event : std::span(events).last(count)) event.time = time += 150;
  }

  bool own_times_;
  std::size_t buffer_;
  std::mt19937_64 random_{5};
  TimeNs now_ = 1'000'000'000;
  std::map<std::int32_t, TimeNs> left_;  // of each thread's period
};

capture::Intake chunk_of(std::vector<capture::Event> events) {
  capture::Batch batch;
  batch.events = std::move(events);
  return capture::Intake::of(std::move(batch));
}

bool found(Cpu cpu, int threads, int turns) {
  pipeline::PebsWatch watch;
  for (int i = 0; i < turns; ++i) watch.add(0, chunk_of(cpu.turn(1 + i % threads)));
  return watch.doubted();
}

TEST(PebsWatch, FindsTimesOfTheDrainInBatchesAsTheyCome) {
  EXPECT_FALSE(found(Cpu(true), 1, 200));
  EXPECT_TRUE(found(Cpu(false), 1, 200));
}

TEST(PebsWatch, FindsThemWithManyThreadsAndSmallBatches) {
  for (std::size_t buffer : {2u, 3u, 7u, 64u}) {
    EXPECT_FALSE(found(Cpu(true, buffer), 5, 200)) << buffer;
    EXPECT_TRUE(found(Cpu(false, buffer), 5, 200)) << buffer;
  }
}

TEST(PebsWatch, FindsAKernelThatBeginsToDoSo) {
  pipeline::PebsWatch watch;
  Cpu before(true), after(false);
  for (int i = 0; i < 2000; ++i) watch.add(0, chunk_of(before.turn(1)));
  EXPECT_FALSE(watch.doubted());
  for (int i = 0; i < 30; ++i) watch.add(0, chunk_of(after.turn(1)));
  EXPECT_TRUE(watch.doubted());
}

// An event that begins later is a ring of its own, amid others whose times are right.
TEST(PebsWatch, FindsAnEventThatBeginsLater) {
  pipeline::PebsWatch watch;
  Cpu old(true), young(false);
  for (int i = 0; i < 500; ++i) watch.add(0, chunk_of(old.turn(1)));
  for (int i = 0; i < 30; ++i) {
    watch.add(0, chunk_of(old.turn(1)));
    watch.add(7, chunk_of(young.turn(2)));
  }
  EXPECT_TRUE(watch.doubted());
}

TEST(PebsWatch, LittleEvidenceIsNone) {
  EXPECT_FALSE(found(Cpu(false), 1, 5));
}

TEST(PebsWatch, APeriodAsFastAsADrainIsNoEvidence) {
  pipeline::PebsWatch watch;
  Cpu cpu(false);
  for (int i = 0; i < 100; ++i) {
    auto events = cpu.turn(1);
    for (capture::Event& event : events) event.weight = 5003;
    watch.add(0, chunk_of(events));
  }
  EXPECT_FALSE(watch.doubted());
}

TEST(PebsWatch, ClosedRingsStartAnew) {
  pipeline::PebsWatch watch;
  Cpu cpu(false);
  for (int i = 0; i < 100; ++i) {
    watch.add(0, chunk_of(cpu.turn(1)));
    watch.forget(0);
  }
  EXPECT_FALSE(watch.doubted());
}

TEST(PebsWatch, OtherRecordsAndExtremeTimesAreHarmless) {
  pipeline::PebsWatch watch;
  std::vector<capture::Event> events(1000);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].kind = i % 3 == 0 ? capture::Kind::kSample : capture::Kind::kSwitchIn;
    events[i].time = i % 2 == 0 ? kTimeMin : kTimeMax;
    events[i].weight = ~std::uint64_t{0} >> (i % 64);
  }
  watch.add(0, chunk_of(events));
}

// The broken twin: a watch that takes records of two threads or of two rings for neighbours convicts a kernel
// whose times are right. Two threads in step, on CPUs of their own, and what such a watch would see of them.
TEST(PebsWatch, WouldConvictTheInnocentWithoutTellingThreadsAndRingsApart) {
  pipeline::PebsWatch right, blind;
  Cpu cpu(true);
  for (int i = 0; i < 200; ++i) {
    const auto one = cpu.turn(1);
    std::vector<capture::Event> both;
    for (const capture::Event& event : one) {
      both.push_back(event);
      both.push_back(event);
      both.back().time += 300;
    }
    blind.add(0, chunk_of(both));
    for (std::size_t k = 1; k < both.size(); k += 2) both[k].tid = 2;
    right.add(0, chunk_of(both));
    right.add(1, chunk_of(one));
    right.add(2, chunk_of(one));
  }
  EXPECT_FALSE(right.doubted());
  EXPECT_TRUE(blind.doubted());
}

// Trials.
struct Trials {
  std::vector<Result<RecordTimes>> results;
  std::size_t made = 0;
  PebsTimes times{[this] { return results.at(made++); }};
};

constexpr TimeNs kMinute = PebsTimes::kInterval;

TEST(PebsTimes, AreTriedOnceAMinuteAtMost) {
  Trials trials{{RecordTimes::kOwn, RecordTimes::kOwn}};
  for (TimeNs now : {TimeNs{5}, kMinute / 2, kMinute + 4, kMinute + 5, kMinute + 6}) {
    EXPECT_EQ(*trials.times.verdict(now), RecordTimes::kOwn);
  }
  EXPECT_EQ(trials.made, 2u);
}

TEST(PebsTimes, AKernelThatChangesItsWaysIsFoundAndStaysConvicted) {
  Trials trials{{RecordTimes::kOwn, RecordTimes::kDrain}};
  EXPECT_EQ(*trials.times.verdict(0), RecordTimes::kOwn);
  EXPECT_EQ(*trials.times.verdict(kMinute), RecordTimes::kDrain);
  EXPECT_EQ(*trials.times.verdict(9 * kMinute), RecordTimes::kDrain);
}

TEST(PebsTimes, ATrialWithoutVerdictLeavesTheEarlierOne) {
  Trials trials{{RecordTimes::kOwn, RecordTimes::kUnknown, Error{"no descriptor", EMFILE}}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*trials.times.verdict(i * kMinute), RecordTimes::kOwn);
}

TEST(PebsTimes, ARefusedTrialIsMadeAgainForLaterEvents) {
  Trials trials{{Error{"refused", EACCES}, RecordTimes::kUnknown, RecordTimes::kOwn}};
  EXPECT_EQ(trials.times.verdict(0).error().code, EACCES);
  EXPECT_EQ(*trials.times.verdict(kMinute), RecordTimes::kUnknown);
  EXPECT_EQ(*trials.times.verdict(2 * kMinute), RecordTimes::kOwn);
}

TEST(PebsTimes, BatchesConvictWithoutATrial) {
  Trials trials{{}};
  trials.times.convict();
  EXPECT_EQ(*trials.times.verdict(0), RecordTimes::kDrain);
}

}  // namespace
}  // namespace tailor::session
