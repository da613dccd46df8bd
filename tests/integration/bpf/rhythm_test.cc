// Loops that run in a rhythm, on this host: their shares are right at every rate, and what the samples stand
// for is the CPU time that was used. A timer of exactly the rhythm's period is the twin that fails.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <list>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/host_files.h"
#include "tests/support/chance.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/disturbance.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

// The clock is read some microseconds after a change, and not all of that is in the loops.
constexpr double kBlur = 0.01;

struct Seen {
  double truth = 0, share = 0, samples = 0;  // of the first loop; samples count as many as are of one weight
  double used = 0, weight = 0, squares = 0;  // ns of CPU time: of both loops, and what all samples stand for
  double process = 0;                        // of the process, making threads included
  bool is_near() const {
    return samples > 20 && std::abs(share - truth) < 5 * std::sqrt(truth * (1 - truth) / samples) + kBlur;
  }
  // Whether all samples together stand for the time that was used.
  bool is_covered() const { return std::abs(weight / used - 1) < 5 * std::sqrt(squares) / used + 0.03; }
  std::string text() const {
    return fmt::format("{:.3f}, true {:.3f}, {:.0f} samples, {:.3f} of the time used", share, truth, samples,
                       weight / used);
  }
};

struct How {
  capture::SampledBy by = capture::SampledBy::kBpf;
  capture::EventSpec event;
  bool jitter = true;
  capture::Placement placement = capture::Placement::kAuto;
};

struct Target {
  std::string cycle_us = "1000", busy_us = "280";
  int cpu_ms = 0, threads = 2;
  int cpu = -1;     // the only one it may run on
  int life_us = 0;  // of each thread, 0: one for all the time
};

// One recording of a process, by a reader of its own.
struct Recorder {
  test::ChunkCollector sink;
  Opener opener;
  capture::CaptureReader reader{os::real(), sink,
                                [](capture::RecordingNumber, const capture::CaptureCounts&) {},
                                [this](os::Os& os, pid_t pid, const capture::CaptureOptions& options) {
                                  return opener.open(os, pid, options);
                                }};

  // "" or why it is denied.
  std::string start(pid_t pid, const How& how) {
    EXPECT_TRUE(reader.start().ok());
    capture::CaptureOptions options;
    options.sampled_by = how.by;
    options.events = {how.event};
    options.jitter = how.jitter;
    options.placement = how.placement;
    auto attached = reader.attach(pid, options);
    return attached ? "" : test::skip_if_denied(options, attached.error().message);
  }
  void stop() {
    reader.stop();
    sink.settle();
  }
};

class Rhythm : public testing::Test {
 protected:
  // All recordings are of the same run. None if one is denied.
  std::vector<Seen> run(const Target& target, const std::vector<How>& hows) {
    std::vector<std::string> command = {std::string(TAILOR_TARGETS) + "/rhythm", target.cycle_us,
                                        target.busy_us, std::to_string(target.cpu_ms),
                                        std::to_string(target.threads)};
    if (target.life_us > 0) command.push_back(std::to_string(target.life_us));
    test::ChildProcess child(command);
    std::istringstream addresses(child.read_line());
    std::uint64_t first = 0, second = 0, end = 0;
    addresses >> first >> second >> end;
    if (target.cpu >= 0) pin(child.pid(), target.cpu);
    std::list<Recorder> recorders;
    for (const How& how : hows) {
      denied = recorders.emplace_back().start(child.pid(), how);
      if (!denied.empty()) return {};
    }
    child.send("\n");
    std::istringstream times(child.read_all());
    child.wait();
    double one = 0, other = 0;
    Seen common;
    times >> one >> other >> common.process;
    common.used = one + other;
    common.truth = one / common.used;
    std::vector<Seen> all;
    for (Recorder& recorder : recorders) {
      recorder.stop();
      all.push_back(common);
      add_up(recorder.sink.events.events, first, second, end, all.back());
    }
    return all;
  }
  static void add_up(const std::vector<capture::Event>& events, std::uint64_t first, std::uint64_t second,
                     std::uint64_t end, Seen& seen) {
    double inside = 0, squares = 0;
    for (const capture::Event& event : events) {
      if (event.kind != capture::Kind::kSample) continue;
      const auto weight = static_cast<double>(event.weight);
      seen.weight += weight;
      seen.squares += weight * weight;
      if (event.user_ip < first || event.user_ip >= end) continue;
      inside += weight;
      squares += weight * weight;
      if (event.user_ip < second) seen.share += weight;
    }
    if (inside == 0) return;
    seen.share /= inside;
    seen.samples = inside * inside / squares;
  }
  static void pin(pid_t pid, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ASSERT_EQ(::sched_setaffinity(pid, sizeof set, &set), 0);
  }
  // Whether most of seven recordings are right. A period keeps step with a rhythm by chance at times: one
  // recording in a hundred or fewer is off by five deviations (jitter_test.cc, VeryWrongSharesAreRare), and
  // four of seven are, once in three million times.
  bool mostly(bool (Seen::*is_right)() const, const Target& target, const How& how) {
    constexpr int kMost = 4;
    int right = 0, wrong = 0;
    while (right < kMost && wrong < kMost) {
      const std::vector<Seen> seen = run(target, {how});
      if (seen.empty()) return false;
      const bool good = (seen.front().*is_right)();
      (good ? right : wrong)++;
      if (!good) told += seen.front().text() + "\n";
    }
    return right == kMost;
  }
  std::string denied, told;
};

struct Case {
  capture::SampledBy by;
  std::uint64_t hz;
  int cycle_us, busy_us, cpu_ms;
};

class Rhythms : public Rhythm, public testing::WithParamInterface<Case> {};

TEST_P(Rhythms, SharesAreTrue) {
  test::undisturbed([&] {
    const Case& each = GetParam();
    Target target;
    target.cycle_us = std::to_string(each.cycle_us);
    target.busy_us = std::to_string(each.busy_us);
    target.cpu_ms = each.cpu_ms;
    const bool right = mostly(&Seen::is_near, target, {each.by, capture::cpu_clock(each.hz)});
    if (!denied.empty()) GTEST_SKIP() << denied;
    EXPECT_TRUE(right) << told;
  });
}

// Every rate with every rhythm; or every rhythm at the usual rate, and one rhythm at the others.
std::vector<Case> cases(bool every) {
  std::vector<Case> all;
  for (const auto by : {capture::SampledBy::kBpf, capture::SampledBy::kPerf}) {
    for (const auto& [hz, cpu_ms] : {std::pair{99, 500}, {997, 200}, {4999, 100}}) {
      for (const auto& [cycle_us, busy_us] : {std::pair{200, 90}, {1000, 280}, {10'000, 7000}}) {
        if (every || hz == 997 || cycle_us == 1000)
          all.push_back({by, static_cast<std::uint64_t>(hz), cycle_us, busy_us, cpu_ms});
      }
    }
  }
  return all;
}
std::string name_of(const testing::TestParamInfo<Case>& each) {
  return fmt::format("{}{}HzCycle{}us", each.param.by == capture::SampledBy::kBpf ? "Bpf" : "Perf",
                     each.param.hz, each.param.cycle_us);
}
INSTANTIATE_TEST_SUITE_P(Some, Rhythms, testing::ValuesIn(cases(false)), name_of);
// For the group `full`, which runs what is disabled.
INSTANTIATE_TEST_SUITE_P(DISABLED_All, Rhythms, testing::ValuesIn(cases(true)), name_of);

// The twin: a timer of one millisecond that is always the same keeps step.
TEST_F(Rhythm, AFixedTimerOfTheSamePeriodIsWrong) {
  How how{capture::SampledBy::kBpf, capture::cpu_clock(1000), false};
  how.event.period = 1'000'000;
  Target target;
  target.cpu_ms = 300;
  target.threads = 1;
  target.cpu = os::online_cpus(os::real())->front();
  const bool right = mostly(&Seen::is_near, target, how);
  if (!denied.empty()) GTEST_SKIP() << denied;
  EXPECT_FALSE(right);
}

// Takes a CPU for the first part of every period, before whoever else is there.
class Neighbour {
 public:
  Neighbour(int cpu, std::chrono::microseconds period, std::chrono::microseconds busy)
      : thread_([=, this] { run(cpu, period, busy); }) {}
  ~Neighbour() {
    over_ = true;
    thread_.join();
  }
  bool allowed() {
    started_.wait(false);
    return allowed_;
  }

 private:
  void run(int cpu, std::chrono::microseconds period, std::chrono::microseconds busy) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    const sched_param first{.sched_priority = 1};
    allowed_ =
        ::sched_setaffinity(0, sizeof set, &set) == 0 && ::sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    started_ = true;
    started_.notify_all();
    for (auto next = std::chrono::steady_clock::now(); allowed_ && !over_; next += period) {
      std::this_thread::sleep_until(next);
      while (std::chrono::steady_clock::now() < next + busy) {
      }
    }
  }
  std::atomic<bool> over_ = false, started_ = false;
  bool allowed_ = false;
  std::thread thread_;
};

// Why totals drift where periods are fixed: somebody takes the CPU in the same rhythm, as the scheduler
// itself can. All samples fall on the target then, or none.
TEST_F(Rhythm, TotalsBesideANeighbourWithARhythm) {
  test::undisturbed([&] {
    Target target;
    target.cpu_ms = 500;
    target.threads = 1;
    target.cpu = os::online_cpus(os::real())->back();
    Neighbour neighbour(target.cpu, std::chrono::microseconds(1000), std::chrono::microseconds(300));
    if (!neighbour.allowed()) GTEST_SKIP() << "real-time priority is denied";
    How how{capture::SampledBy::kBpf, capture::cpu_clock(1000)};
    const bool right = mostly(&Seen::is_covered, target, how);
    if (!denied.empty()) GTEST_SKIP() << denied;
    EXPECT_TRUE(right) << told;
    how.jitter = false;
    how.event.period = 1'000'000;
    EXPECT_FALSE(mostly(&Seen::is_covered, target, how)) << "the twin, a fixed period";
  });
}

// What all samples stand for, of the CPU time that was used: the deviation is that of independent samples at
// most.
void expect_covered(const Seen& seen, double used, std::uint64_t hz) {
  const double deviation = std::sqrt(seen.squares) / used;
  EXPECT_NEAR(seen.weight / used, 1, 0.03 + test::of_count(1 / (deviation * deviation)))
      << hz << " Hz, deviation " << deviation;
}

std::vector<How> by_both(std::uint64_t hz) {
  return {{capture::SampledBy::kBpf, capture::cpu_clock(hz)},
          {capture::SampledBy::kPerf, capture::cpu_clock(hz)}};
}

// Whatever the scheduler's own period is.
TEST_F(Rhythm, TotalsAreTheCpuTime) {
  test::undisturbed([&] {
    for (const std::uint64_t hz : {19, 100, 1000, 10'000}) {
      Target target;
      target.cpu_ms = 700;
      const std::vector<Seen> all = run(target, by_both(hz));
      if (!denied.empty()) GTEST_SKIP() << denied;
      for (const Seen& seen : all) expect_covered(seen, seen.used, hz);
    }
  });
}

// Threads that live for a third of a period of 99 Hz each. Timers of the CPUs see them; a timer of a thread
// begins with a whole period, and so sees none: the twin that fails. (A recording by perf changes over to the
// CPUs' by itself: BirthWatch.)
TEST_F(Rhythm, TotalsOfShortLivesAreTheCpuTime) {
  test::undisturbed([&] {
    constexpr std::uint64_t kHz = 99;
    std::vector<How> hows = by_both(kHz);
    hows[0].placement = hows[1].placement = capture::Placement::kPerCpu;
    hows.push_back(hows[1]);
    hows[2].placement = capture::Placement::kPerThread;
    Target target;
    target.cpu_ms = 1500;
    target.life_us = 3000;
    const std::vector<Seen> all = run(target, hows);
    if (!denied.empty()) GTEST_SKIP() << denied;
    expect_covered(all[0], all[0].process, kHz);
    expect_covered(all[1], all[1].process, kHz);
    EXPECT_LT(all[2].weight / all[2].process, 0.5) << "the twin";
  });
}

// For the group `full`: many minutes. At least 60,000 samples each, of threads that live long and of threads
// that live for 3 ms.
TEST_F(Rhythm, DISABLED_TotalsOfManySamplesAreTheCpuTime) {
  for (const std::uint64_t hz : {4999, 997, 99}) {
    for (const int life_us : {0, 3000}) {
      std::vector<How> hows = by_both(hz);
      hows[1].placement = life_us > 0 ? capture::Placement::kPerCpu : capture::Placement::kAuto;
      Target target;
      target.cpu_ms = static_cast<int>(31'000'000 / hz);
      target.life_us = life_us;
      const std::vector<Seen> all = run(target, hows);
      if (!denied.empty()) GTEST_SKIP() << denied;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double used = life_us > 0 ? all[i].process : all[i].used;
        EXPECT_GE(used * static_cast<double>(hz) / 1e9, 60'000);
        EXPECT_NEAR(all[i].weight / used, 1, 0.03)
            << hz << " Hz, " << (i == 0 ? "BPF" : "perf") << ", threads live for " << life_us << " us";
        fmt::print("{} Hz, {}, threads live for {} us: {:.4f} of {:.1f} s\n", hz, i == 0 ? "BPF" : "perf",
                   life_us, all[i].weight / used, used / 1e9);
      }
    }
  }
}

}  // namespace
}  // namespace tailor::bpf
