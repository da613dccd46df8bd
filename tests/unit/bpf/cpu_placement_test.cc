// Timers on a simulated host of 64 CPUs, four of which an engine uses at a time.
#include "daemon/bpf/cpu_placement.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "daemon/bpf/cpu_events.h"
#include "tests/support/fake_os.h"

namespace tailor::bpf {
namespace {

constexpr int kCpus = 64, kThreads = 4;
constexpr TimeNs kMs = 1'000'000;

// A scheduler, timers of `period`, and the part of the program that looks at CPUs. Time goes by in steps of a
// tenth of a millisecond.
class Host {
 public:
  Host(TimeNs period, bool always) : placement(period), period_(period), always_(always) {}

  // Threads that move about every `stay` (kTimeMax: never) to a CPU of their choice, and sleep for a while
  // after they ran for `burst`, 0: never.
  void run(TimeNs length, TimeNs stay, TimeNs burst = 0, TimeNs sleep = 0) {
    constexpr TimeNs kStep = kMs / 10, kRound = 50 * kMs;
    if (now == 0) look();
    for (const TimeNs end = now + length; now < end; now += kStep) {
      for (std::size_t i = 0; i < threads_.size(); ++i) step_thread(i, stay, burst, sleep, kStep);
      tick(kStep);
      if (woken_ || now % kRound == 0) look();
    }
  }

  TimeNs now = 0, ran = 0;
  std::uint64_t samples = 0, idle = 0;
  CpuPlacement placement;

 private:
  struct Thread {
    int cpu = -1;
    bool runs = false;
    TimeNs until = 0, moves = 0;
  };

  void step_thread(std::size_t i, TimeNs stay, TimeNs burst, TimeNs sleep, TimeNs step) {
    Thread& thread = threads_[i];
    if (thread.cpu < 0 || now >= thread.moves) {
      thread.cpu = static_cast<int>(i * kCpus / kThreads + random_() % (kCpus / kThreads));
      thread.moves =
          stay == kTimeMax ? kTimeMax : now + stay / 2 + static_cast<TimeNs>(random_() >> 1) % stay;
      thread.runs = false;
    }
    if (thread.runs && burst > 0 && now >= thread.until) {
      thread.runs = false;
      thread.until = now + sleep / 2 + static_cast<TimeNs>(random_() >> 1) % sleep;
    } else if (!thread.runs && now >= thread.until) {
      thread.runs = true;
      thread.until = now + burst;
      switched_in(thread.cpu);
    }
    if (thread.runs) ran += step;
  }
  void switched_in(int cpu) {
    if (!tasks_[cpu].watched || seen_[cpu].wanted) return;
    seen_[cpu].wanted = true;
    woken_ = true;
  }
  void tick(TimeNs step) {
    std::set<int> busy;
    for (const Thread& thread : threads_) {
      if (thread.runs) busy.insert(thread.cpu);
    }
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      if (!tasks_[cpu].timer && !always_) continue;
      left_[cpu] -= step;
      if (left_[cpu] > 0) continue;
      left_[cpu] += period_;
      if (busy.contains(cpu)) {
        ++samples;
        ++seen_[cpu].hits;
      } else {
        ++idle;
      }
    }
  }
  void look() {
    woken_ = false;
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      tasks_[cpu] = placement.look(cpu, now, seen_[cpu]);
      if (tasks_[cpu].timer) seen_[cpu].wanted = false;
    }
  }

  TimeNs period_;
  bool always_, woken_ = false;
  std::mt19937_64 random_{1};
  std::array<Thread, kThreads> threads_;
  std::array<CpuTask, kCpus> tasks_{};
  std::array<CpuSeen, kCpus> seen_{};
  std::array<TimeNs, kCpus> left_{};
};

double coverage(const Host& host, TimeNs period) {
  return static_cast<double>(host.samples) * static_cast<double>(period) / static_cast<double>(host.ran);
}

// A sample and the interrupt of an idle CPU cost about the same.
TEST(CpuPlacement, IdleTimersCostLittleBesideTheSamples) {
  for (const TimeNs period : {10 * kMs, kMs, kMs / 5}) {
    for (const TimeNs stay : {kTimeMax, TimeNs{20'000} * kMs}) {
      Host host(period, false);
      host.run(20'000 * kMs, stay);
      EXPECT_LE(static_cast<double>(host.idle), 0.05 * static_cast<double>(host.samples)) << period;
      EXPECT_NEAR(coverage(host, period), 1, 0.03) << period;
    }
  }
}

// The twin.
TEST(CpuPlacement, TimersOfAllCpusCostMoreThanTheSamples) {
  Host host(kMs, true);
  host.run(5'000 * kMs, kTimeMax);
  EXPECT_GT(host.idle, 10 * host.samples);
}

// Whatever threads do, they are seen: those that move ten times a second, and those that run for moments.
TEST(CpuPlacement, FollowsThreadsThatMoveAndSleep) {
  Host moving(kMs, false);
  moving.run(20'000 * kMs, 100 * kMs);
  EXPECT_NEAR(coverage(moving, kMs), 1, 0.03);
  Host moments(kMs, false);
  moments.run(60'000 * kMs, kTimeMax, 3 * kMs / 10, 100 * kMs);
  EXPECT_NEAR(coverage(moments, kMs), 1, 0.15);
  EXPECT_GT(moments.samples, 300u);
}

TEST(CpuPlacement, ACpuIsWatchedBeforeItsTimerStops) {
  CpuPlacement placement(kMs);
  EXPECT_EQ(placement.look(3, 0, {}), (CpuTask{false, true}));
  EXPECT_EQ(placement.look(3, kMs, {0, true}), (CpuTask{true, false}));
  EXPECT_EQ(placement.look(3, 20 * kMs, {5, false}), (CpuTask{true, false}));
  EXPECT_EQ(placement.look(3, 70 * kMs, {5, false}), (CpuTask{true, true})) << "being left";
  EXPECT_EQ(placement.look(3, 71 * kMs, {6, false}), (CpuTask{true, false})) << "a thread was there";
  EXPECT_EQ(placement.look(3, 200 * kMs, {6, false}), (CpuTask{true, true}));
  EXPECT_EQ(placement.look(3, 201 * kMs, {6, true}), (CpuTask{true, false})) << "one came";
  EXPECT_EQ(placement.look(3, 300 * kMs, {6, false}), (CpuTask{true, true}));
  EXPECT_EQ(placement.running(), 1u);
  EXPECT_EQ(placement.look(3, 310 * kMs, {6, false}), (CpuTask{false, true}));
  EXPECT_EQ(placement.running(), 0u);
}

struct Attachments {
  std::vector<int> live;  // descriptors
  CpuEvents::Attach attach() {
    return [this](UniqueFd fd, std::size_t) -> Result<CpuEvents::Attached> {
      const int number = fd.release();
      live.push_back(number);
      return CpuEvents::Attached{number, std::shared_ptr<void>(this, [number](void* self) {
                                   std::erase(static_cast<Attachments*>(self)->live, number);
                                   UniqueFd closed(number);
                                 })};
    };
  }
};

TEST(CpuEvents, HavePeriodsOfTheirOwnThatAreDrawnAnewWhileTheyRun) {
  test::FakeOs os;
  os.set_online_cpus("0-3");
  os.fail_open = [](const perf_event_attr&, pid_t, int cpu) { return cpu == 2 ? ENODEV : 0; };
  Attachments attachments;
  perf_event_attr attr{};
  CpuEvents events(os, {capture::cpu_clock(997)}, {attr}, true, attachments.attach());
  ASSERT_TRUE(events.open({0, 1, 2, 3}, 0).ok());
  EXPECT_EQ(attachments.live.size(), 3u);
  std::set<std::uint64_t> periods;
  for (const auto& opened : os.opened()) periods.insert(opened.attr.sample_period);
  EXPECT_EQ(periods.size(), 3u);
  events.run(1, true);
  os.opened()[1].counted = 1'000'000'000;  // many periods
  events.redraw(100 * kMs);
  EXPECT_EQ(os.opened().size(), 3u);
  events.redraw(300 * kMs);
  ASSERT_EQ(os.opened().size(), 4u);
  EXPECT_EQ(os.opened().back().cpu, 1);
  EXPECT_FALSE(periods.contains(os.opened().back().attr.sample_period));
  EXPECT_EQ(attachments.live.size(), 3u);
  EXPECT_EQ(attachments.live.back(), os.opened().back().fd) << "at once";
  os.opened().back().counted = 1'000'000'000;
  os.fail_open = [](const perf_event_attr&, pid_t, int) { return EMFILE; };
  events.redraw(3000 * kMs);
  EXPECT_EQ(attachments.live.size(), 3u) << "the old one stays";
}

// Of few periods a half is not lost: the next event runs beside the old one at first, for one to two periods.
TEST(CpuEvents, OfFewSamplesAreReplacedByOnesThatRunAlready) {
  test::FakeOs os;
  Attachments attachments;
  CpuEvents events(os, {capture::cpu_clock(99)}, {perf_event_attr{}}, true, attachments.attach());
  ASSERT_TRUE(events.open({0}, 0).ok());
  events.run(0, true);
  os.opened()[0].counted = 300'000'000;
  events.redraw(300 * kMs);
  ASSERT_EQ(os.opened().size(), 2u);
  const int fresh = os.opened()[1].fd;
  const std::uint64_t period = os.opened()[1].attr.sample_period;
  ASSERT_EQ(attachments.live.size(), 1u);
  EXPECT_NE(attachments.live[0], fresh) << "without the program";
  os.by_fd(fresh).counted = period - 1;
  events.redraw(310 * kMs);
  EXPECT_NE(attachments.live[0], fresh);
  os.by_fd(fresh).counted = 2 * period;
  events.redraw(330 * kMs);
  ASSERT_EQ(attachments.live.size(), 1u);
  EXPECT_EQ(attachments.live[0], fresh);
  events.redraw(340 * kMs);
  EXPECT_EQ(os.opened().size(), 2u) << "not before its time";
  events.redraw(600 * kMs);
  EXPECT_EQ(os.opened().size(), 3u);
  events.run(0, false);
  events.run(0, true);
  os.opened().back().counted = 2 * os.opened().back().attr.sample_period;
  events.redraw(610 * kMs);
  EXPECT_EQ(attachments.live[0], fresh) << "what ran beside is gone with the CPU's timer";
}

// A second counter may be one too many for the CPU.
TEST(CpuEvents, CountersAreReplacedOnlyAfterManyPeriods) {
  test::FakeOs os;
  Attachments attachments;
  capture::EventSpec misses = capture::cpu_clock(99);
  misses.mechanism = capture::Mechanism::kCounter;
  misses.unit = profile::Unit::kEvents;
  misses.period = 100'003;
  CpuEvents events(os, {misses}, {perf_event_attr{}}, true, attachments.attach());
  ASSERT_TRUE(events.open({0}, 0).ok());
  events.run(0, true);
  os.opened()[0].counted = 199 * misses.period;
  events.redraw(5000 * kMs);
  EXPECT_EQ(os.opened().size(), 1u);
  os.opened()[0].counted = 201 * misses.period;
  events.redraw(5010 * kMs);
  ASSERT_EQ(os.opened().size(), 2u);
  EXPECT_EQ(attachments.live, std::vector<int>{os.opened()[1].fd});
}

TEST(CpuEvents, AreExactlyThoseOfTheirSpecWithoutJitter) {
  test::FakeOs os;
  Attachments attachments;
  perf_event_attr attr{};
  attr.sample_period = 1'000'000;
  CpuEvents events(os, {capture::cpu_clock(997)}, {attr}, false, attachments.attach());
  ASSERT_TRUE(events.open({0, 1}, 0).ok());
  events.run(0, true);
  events.redraw(1'000'000 * kMs);
  ASSERT_EQ(os.opened().size(), 2u);
  for (const auto& opened : os.opened()) EXPECT_EQ(opened.attr.sample_period, 1'000'000u);
}

}  // namespace
}  // namespace tailor::bpf
