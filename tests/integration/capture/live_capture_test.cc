// Real perf events on programs of a known shape. Skips where the host does not allow them, with the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "daemon/capture/decode/off_cpu.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/host_files.h"
#include "daemon/os/launched_command.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/disturbance.h"
#include "tests/support/host_allows.h"
#include "tests/support/process_state.h"

namespace tailor::capture {
namespace {

using test::ChildProcess;
using test::ChunkCollector;

std::string target(const std::string& name) {
  return std::string(TAILOR_TARGETS) + "/" + name;
}

CaptureOptions options_at(std::uint64_t hz) {
  CaptureOptions options;
  options.events = {cpu_clock(hz)};
  return options;
}

// Thread id -> nanoseconds of CPU, as busy_threads prints them.
std::map<std::int32_t, std::int64_t> parse_cpu_times(const std::string& output) {
  std::map<std::int32_t, std::int64_t> times;
  std::istringstream lines(output);
  std::int32_t tid;
  std::int64_t ns;
  while (lines >> tid >> ns) times[tid] = ns;
  return times;
}

class LiveCapture : public testing::Test {
 protected:
  // Begins anew, so that a try can be repeated.
  void start() {
    reader_.reset();
    sink_ = std::make_unique<ChunkCollector>();
    ended_ = {};
    endings_ = 0;
    reader_ = std::make_unique<CaptureReader>(os::real(), *sink_,
                                              [this](RecordingNumber, const CaptureCounts& counts) {
                                                ended_ = counts;
                                                ++endings_;
                                              });
    ASSERT_TRUE(reader_->start().ok());
  }

  // False where it is refused; denied_ says why. Where the host allows it, the test has failed, unless it
  // asks for something that is not there.
  bool attach(pid_t pid, const CaptureOptions& options, bool skips = true) {
    auto attached = reader_->attach(pid, options);
    if (attached) return true;
    denied_ = skips ? test::skip_if_denied(options, attached.error().message) : attached.error().message;
    return false;
  }

  void finish() {
    reader_->stop();
    sink_->settle();
  }

  void expect_consistent() {
    DecodeCounts counts = sink_->counts();
    test::no_excuse(counts.malformed == 0);
    EXPECT_EQ(counts.malformed, 0u);
    EXPECT_EQ(counts.unknown_type, 0u);
    EXPECT_EQ(counts.unknown_id, 0u);
    EXPECT_EQ(counts.cut_bytes, 0u);
    EXPECT_EQ(counts.lost, 0u);
    EXPECT_EQ(ended_.lost, 0u);
    EXPECT_EQ(sink_->sorter.counts().late, 0u);
    EXPECT_TRUE(std::ranges::is_sorted(sink_->events.events, {}, &Event::time));
  }

  // A thread's samples stand for its CPU time. The tolerance is wide: a virtual timer misses ticks.
  void expect_time_covered(const std::map<std::int32_t, std::int64_t>& cpu_times) {
    std::map<std::int32_t, std::uint64_t> weights;
    for (const Event& event : sink_->events.events) {
      if (event.kind == Kind::kSample) weights[event.tid] += event.weight;
    }
    for (auto [tid, ns] : cpu_times) {
      double covered = static_cast<double>(weights[tid]) / static_cast<double>(ns);
      EXPECT_GT(covered, 0.85) << "thread " << tid;
      EXPECT_LT(covered, 1.1) << "thread " << tid;
    }
  }

  std::unique_ptr<ChunkCollector> sink_;
  CaptureCounts ended_;
  int endings_ = 0;
  std::string denied_;
  std::unique_ptr<CaptureReader> reader_;
};

TEST_F(LiveCapture, TwoBusyThreadsAtTenKilohertzWithoutLoss) {
  test::undisturbed([&] {
    ChildProcess child({target("busy_threads"), "2", "1000", "wait"});
    start();
    CaptureOptions options = options_at(10'000);
    if (!attach(child.pid(), options)) GTEST_SKIP() << denied_;
    child.send("\n");
    auto cpu_times = parse_cpu_times(child.read_all());
    child.wait();
    finish();
    ASSERT_EQ(cpu_times.size(), 2u);
    expect_consistent();
    expect_time_covered(cpu_times);
    EXPECT_EQ(endings_, 1);
    EXPECT_GE(sink_->count_of(Kind::kExit), 2u);
    EXPECT_GE(sink_->count_of(Kind::kFork), 1u);
    EXPECT_EQ(sink_->closed, os::online_cpus(os::real())->size());
  });
}

TEST_F(LiveCapture, ThreadsOfARunningProcessAreAllSeen) {
  test::undisturbed([&] {
    start();
    ChildProcess child({target("busy_threads"), "5", "400"});
    ASSERT_TRUE(test::eventually([&] {
      const auto threads = os::threads_of(os::real(), child.pid());
      return threads.ok() && threads->size() == 5;
    }));
    CaptureOptions options = options_at(1000);
    if (!attach(child.pid(), options)) GTEST_SKIP() << denied_;
    auto cpu_times = parse_cpu_times(child.read_all());
    child.wait();
    finish();
    ASSERT_EQ(cpu_times.size(), 5u);
    expect_consistent();
    auto samples = sink_->samples_by_thread();
    for (auto [tid, ns] : cpu_times) EXPECT_GT(samples[tid], 0u) << tid << " used " << ns;
  });
}

TEST_F(LiveCapture, CommandIsRecordedFromItsFirstInstruction) {
  test::undisturbed([&] {
    auto command = os::LaunchedCommand::launch({target("busy_threads"), "2", "200"});
    ASSERT_TRUE(command.ok());
    start();
    CaptureOptions options = options_at(5000);
    options.enable_on_exec = true;
    if (!attach(command->pid(), options)) GTEST_SKIP() << denied_;
    ASSERT_TRUE(command->start().ok());
    ::waitpid(command->pid(), nullptr, 0);
    finish();
    expect_consistent();
    EXPECT_EQ(sink_->samples_by_thread().size(), 2u);
    // The program itself is mapped by exec: nothing before it was recorded, and it was not missed.
    const Event* first_map = nullptr;
    bool exec_seen = false;
    for (const Event& event : sink_->events.events) {
      exec_seen |= event.kind == Kind::kComm && event.flag_exec;
      if (event.kind == Kind::kMmap && first_map == nullptr) first_map = &event;
    }
    EXPECT_TRUE(exec_seen);
    ASSERT_NE(first_map, nullptr);
    EXPECT_NE(sink_->events.text_of(*first_map).find("busy_threads"), std::string_view::npos);
  });
}

TEST_F(LiveCapture, ContextSwitchesAreRecorded) {
  test::undisturbed([&] {
    ChildProcess child({target("busy_threads"), "4", "50", "wait"});
    start();
    CaptureOptions options = options_at(1000);
    options.context_switches = true;
    if (!attach(child.pid(), options)) GTEST_SKIP() << denied_;
    child.send("\n");
    child.read_all();
    child.wait();
    finish();
    expect_consistent();
    EXPECT_GT(sink_->count_of(Kind::kSwitchIn), 0u);
    EXPECT_GT(sink_->count_of(Kind::kSwitchOut), 0u);
  });
}

// Nobody reads a small ring while the target runs: what is missing is told, to the record.
TEST(LiveLoss, AReaderThatStoppedReportsWhatItMissed) {
  test::undisturbed([&] {
    ChildProcess child({target("busy_threads"), "1", "2000", "wait"});
    CaptureOptions options = options_at(10'000);
    options.ring_bytes = 16 << 10;
    options.jitter = false;  // so that a lost sample has a weight
    auto recording = PerfRecording::open(os::real(), child.pid(), options);
    if (!recording) GTEST_SKIP() << test::skip_if_denied(options, recording.error().message);
    ChunkCollector sink;
    (*recording)->number_rings(0);
    child.send("\n");
    auto cpu_times = parse_cpu_times(child.read_all());
    child.wait();
    (*recording)->finish(sink);
    sink.settle();
    DecodeCounts counts = sink.counts();
    EXPECT_GT(counts.lost, 0u);
    EXPECT_EQ(counts.lost, (*recording)->counts().lost);
    double ticks =
        static_cast<double>(cpu_times.begin()->second) / static_cast<double>(options.events[0].period);
    double told = static_cast<double>(counts.samples + counts.lost);
    EXPECT_GT(told, 0.85 * ticks);
    EXPECT_LT(told, 1.1 * ticks);
  });
}

// The sum of the waits is the time the program says it slept.
TEST_F(LiveCapture, TimeOffCpuIsThatOfTheSleeps) {
  test::undisturbed([&] {
    auto command = os::LaunchedCommand::launch({target("naps"), "50", "4000"});
    ASSERT_TRUE(command.ok());
    start();
    CaptureOptions options = options_at(1000);
    options.events.push_back(off_cpu());
    options.context_switches = true;
    options.enable_on_exec = true;
    if (!attach(command->pid(), options)) GTEST_SKIP() << denied_;
    ASSERT_TRUE(command->start().ok());
    ::waitpid(command->pid(), nullptr, 0);
    finish();
    expect_consistent();
    OffCpuTracker tracker;
    tracker.set_sources({{0, "cpu-clock", profile::Unit::kNsOnCpu, 1, false},
                         {1, "off-cpu", profile::Unit::kNsOffCpu, 1, false}});
    std::uint64_t away = 0, naps = 0, with_user_ip = 0;
    for (const Event& event : sink_->events.events) {
      if (tracker.absorb(sink_->events, event) || event.kind != Kind::kSwitchIn) continue;
      const Batch* wait = tracker.returned(event);
      if (wait == nullptr) continue;
      const Event& sample = wait->events.front();
      away += sample.weight;
      naps += sample.weight > 3'500'000;
      with_user_ip += sample.weight > 3'500'000 && sample.user_ip != 0 && !wait->chain(sample).empty();
    }
    EXPECT_GE(naps, 50u);
    EXPECT_EQ(with_user_ip, naps);
    // Besides its sleeps a program is preempted and waits for the CPU.
    EXPECT_GT(away, 50u * 4'000'000);
  });
}

// Another process computes on the same CPUs: none of it is left.
TEST_F(LiveCapture, OneEventPerCpuShowsTheProcessAlone) {
  test::undisturbed([&] {
    ChildProcess child({target("busy_threads"), "2", "300", "wait"});
    ChildProcess other({target("busy_threads"), "1", "300", "wait"});
    start();
    CaptureOptions options = options_at(2000);
    options.placement = Placement::kPerCpu;
    if (!attach(child.pid(), options)) GTEST_SKIP() << denied_;
    other.send("\n");
    child.send("\n");
    auto cpu_times = parse_cpu_times(child.read_all());
    auto pid = child.pid();
    child.wait();
    finish();
    expect_consistent();
    expect_time_covered(cpu_times);
    EXPECT_GT(ended_.filtered, 0u);
    for (const Event& event : sink_->events.events) {
      EXPECT_TRUE(event.kind != Kind::kSample || event.pid == pid) << event.pid;
    }
  });
}

// A program that believes to be process 1 is recorded under the numbers we know it by.
TEST_F(LiveCapture, AnotherPidNamespaceIsSeenInOurNumbers) {
  test::undisturbed([&] {
    ChildProcess outer(
        {"/usr/bin/unshare", "--fork", "--pid", "--kill-child", target("busy_threads"), "2", "100", "wait"});
    pid_t inner = 0;
    auto children =
        os::real().proc() / std::to_string(outer.pid()) / "task" / std::to_string(outer.pid()) / "children";
    for (int i = 0; i < 100 && inner == 0; ++i) {
      auto text = os::read_text(children);
      if (text && !text->empty()) inner = std::atoi(text->c_str());
      ::usleep(10'000);
    }
    if (inner == 0) GTEST_SKIP() << "no new pid namespace can be made here";
    start();
    if (!attach(inner, options_at(2000))) GTEST_SKIP() << denied_;
    outer.send("\n");
    outer.read_all();
    outer.wait();
    finish();
    expect_consistent();
    EXPECT_EQ(sink_->samples_by_thread().size(), 2u);
    for (const Event& event : sink_->events.events) {
      EXPECT_TRUE(event.kind != Kind::kSample || event.pid == inner) << event.pid;
    }
  });
}

TEST_F(LiveCapture, AProcessThatDoesNotExistIsSaidSo) {
  start();
  EXPECT_FALSE(attach(0x3FFFFF, options_at(100), false));
  EXPECT_NE(denied_.find("no process"), std::string::npos);
}

TEST(LaunchedCommand, AProgramThatDoesNotExistIsSaidSo) {
  auto command = os::LaunchedCommand::launch({"/no/such/program"});
  ASSERT_TRUE(command.ok());
  auto started = command->start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ENOENT);
}

}  // namespace
}  // namespace tailor::capture
