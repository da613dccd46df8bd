// Timers on a simulated host of 64 CPUs, four of which an engine uses at a time.
#include "daemon/bpf/cpu_placement.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

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

}  // namespace
}  // namespace tailor::bpf
