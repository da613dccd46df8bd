// Loops that run in a rhythm, on this host: their shares are right at every rate, and what the samples stand
// for is the CPU time that was used. A timer of exactly the rhythm's period is the twin that fails.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/host_files.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"

namespace tailor::bpf {
namespace {

struct Seen {
  double truth = 0, share = 0, samples = 0;  // of the first loop; samples count as many as are of one weight
  double used = 0, weight = 0;               // ns of CPU time: of both loops, and what all samples stand for
  double process = 0;                        // of the process, making threads included
  // In standard deviations of so many samples.
  double off() const {
    return samples > 0 ? std::abs(share - truth) / std::sqrt(truth * (1 - truth) / samples) : 0;
  }
};

struct How {
  capture::SampledBy by = capture::SampledBy::kBpf;
  capture::EventSpec event;
  bool jitter = true;
  int cpu = -1;     // the only one it may run on
  int life_us = 0;  // of each thread, 0: one for all the time
  capture::Placement placement = capture::Placement::kAuto;
};

class Rhythm : public testing::Test {
 protected:
  Seen run(const How& how, const std::string& cycle_us, const std::string& busy_us, int cpu_ms, int threads) {
    std::vector<std::string> command = {std::string(TAILOR_TARGETS) + "/rhythm", cycle_us, busy_us,
                                        std::to_string(cpu_ms), std::to_string(threads)};
    if (how.life_us > 0) command.push_back(std::to_string(how.life_us));
    test::ChildProcess child(command);
    std::istringstream addresses(child.read_line());
    std::uint64_t first = 0, second = 0, end = 0;
    addresses >> first >> second >> end;
    if (how.cpu >= 0) pin(child.pid(), how.cpu);
    test::ChunkCollector sink;
    Opener opener;
    capture::CaptureReader reader(
        os::real(), sink, [](capture::RecordingNumber, const capture::CaptureCounts&) {},
        [&](os::Os& os, pid_t pid, const capture::CaptureOptions& options) {
          return opener.open(os, pid, options);
        });
    EXPECT_TRUE(reader.start().ok());
    capture::CaptureOptions options;
    options.sampled_by = how.by;
    options.events = {how.event};
    options.jitter = how.jitter;
    options.placement = how.placement;
    auto attached = reader.attach(child.pid(), options);
    if (!attached) {
      denied = attached.error().message;
      return {};
    }
    child.send("\n");
    std::istringstream times(child.read_all());
    child.wait();
    reader.stop();
    sink.settle();
    double one = 0, other = 0;
    Seen seen;
    times >> one >> other >> seen.process;
    seen.used = one + other;
    seen.truth = one / seen.used;
    double inside = 0, squares = 0;
    for (const capture::Event& event : sink.events.events) {
      if (event.kind != capture::Kind::kSample) continue;
      const auto weight = static_cast<double>(event.weight);
      seen.weight += weight;
      if (event.user_ip < first || event.user_ip >= end) continue;
      inside += weight;
      squares += weight * weight;
      if (event.user_ip < second) seen.share += weight;
    }
    if (inside == 0) return seen;
    seen.share /= inside;
    seen.samples = inside * inside / squares;
    return seen;
  }
  static void pin(pid_t pid, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ASSERT_EQ(::sched_setaffinity(pid, sizeof set, &set), 0);
  }
  std::string denied;
};

struct Case {
  capture::SampledBy by;
  std::uint64_t hz;
  int cycle_us, busy_us, cpu_ms;
};

class Rhythms : public Rhythm, public testing::WithParamInterface<Case> {};

// The clock is read some microseconds after a change, and not all of that is in the loops.
constexpr double kBlur = 0.01;

TEST_P(Rhythms, SharesAreTrue) {
  const Case& each = GetParam();
  const Seen seen = run({each.by, capture::cpu_clock(each.hz)}, std::to_string(each.cycle_us),
                        std::to_string(each.busy_us), each.cpu_ms, 2);
  if (!denied.empty()) GTEST_SKIP() << denied;
  ASSERT_GT(seen.samples, 20);
  const double bound = 4 * std::sqrt(seen.truth * (1 - seen.truth) / seen.samples) + kBlur;
  EXPECT_NEAR(seen.share, seen.truth, bound) << seen.samples << " samples";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto by : {capture::SampledBy::kBpf, capture::SampledBy::kPerf}) {
    for (const auto& [hz, cpu_ms] : {std::pair{99, 1000}, {997, 400}, {4999, 200}}) {
      for (const auto& [cycle_us, busy_us] : {std::pair{200, 90}, {1000, 280}, {10'000, 7000}}) {
        all.push_back({by, static_cast<std::uint64_t>(hz), cycle_us, busy_us, cpu_ms});
      }
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Rhythms, testing::ValuesIn(cases()), [](const auto& each) {
  return fmt::format("{}{}HzCycle{}us", each.param.by == capture::SampledBy::kBpf ? "Bpf" : "Perf",
                     each.param.hz, each.param.cycle_us);
});

// The twin: a timer of one millisecond that is always the same keeps step. By chance it may be near a change,
// or have been stopped meanwhile: then it is tried again.
TEST_F(Rhythm, AFixedTimerOfTheSamePeriodIsWrong) {
  How how{capture::SampledBy::kBpf, capture::cpu_clock(1000), false, os::online_cpus(os::real())->front()};
  how.event.period = 1'000'000;
  Seen seen;
  for (int attempt = 0; attempt < 4 && seen.off() < 5; ++attempt) {
    seen = run(how, "1000", "280", 500, 1);
    if (!denied.empty()) GTEST_SKIP() << denied;
  }
  EXPECT_GT(seen.off(), 5) << seen.share << " of " << seen.truth;
}

void expect_covered(const Seen& seen, std::uint64_t hz, double least_bound) {
  const double samples = seen.used / 1e9 * static_cast<double>(hz);
  EXPECT_NEAR(seen.weight / seen.used, 1, std::max(least_bound, 4 / std::sqrt(samples) + 0.03))
      << hz << " Hz, " << samples << " samples";
}

// Whatever the scheduler's own period is.
TEST_F(Rhythm, TotalsAreTheCpuTime) {
  for (const auto by : {capture::SampledBy::kBpf, capture::SampledBy::kPerf}) {
    for (const std::uint64_t hz : {100, 1000, 10'000}) {
      const Seen seen = run({by, capture::cpu_clock(hz)}, "1000", "280", 500, 2);
      if (!denied.empty()) GTEST_SKIP() << denied;
      expect_covered(seen, hz, 0.03);
    }
  }
}

// Threads that live for a third of a period of 99 Hz each. Timers of the CPUs see them; a timer of a thread
// begins with a whole period, and so sees none: the twin that fails. (A recording by perf changes over to the
// CPUs' by itself: BirthWatch.)
TEST_F(Rhythm, TotalsOfShortLivesAreTheCpuTime) {
  constexpr std::uint64_t kHz = 99;
  constexpr int kLifeUs = 3000;
  const auto live = [&](capture::SampledBy by, capture::Placement placement) {
    return run({by, capture::cpu_clock(kHz), true, -1, kLifeUs, placement}, "1000", "280", 1500, 2);
  };
  for (const auto by : {capture::SampledBy::kBpf, capture::SampledBy::kPerf}) {
    Seen seen = live(by, capture::Placement::kPerCpu);
    seen.used = seen.process;
    if (!denied.empty()) GTEST_SKIP() << denied;
    expect_covered(seen, kHz, 0.03);
  }
  const Seen twin = live(capture::SampledBy::kPerf, capture::Placement::kPerThread);
  EXPECT_LT(twin.weight / twin.process, 0.5);
}

// For the group `full`: minutes.
TEST_F(Rhythm, DISABLED_TotalsOfManySamplesAreTheCpuTime) {
  for (const std::uint64_t hz : {99, 997, 4999}) {
    const Seen seen = run({capture::SampledBy::kBpf, capture::cpu_clock(hz)}, "1000", "280",
                          static_cast<int>(31'000'000 / hz), 2);
    if (!denied.empty()) GTEST_SKIP() << denied;
    EXPECT_GE(seen.used * static_cast<double>(hz) / 1e9, 60'000);
    EXPECT_NEAR(seen.weight / seen.used, 1, 0.03) << hz << " Hz";
  }
}

}  // namespace
}  // namespace tailor::bpf
