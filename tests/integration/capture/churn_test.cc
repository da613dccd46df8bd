// Attaching to processes that do not hold still.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/host_files.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/disturbance.h"
#include "tests/support/fake_os.h"
#include "tests/support/forwarding_os.h"
#include "tests/support/host_allows.h"
#include "tests/support/process_state.h"

namespace tailor::capture {
namespace {

using test::ChildProcess;
using test::ChunkCollector;

std::string target(const std::string& name) {
  return std::string(TAILOR_TARGETS) + "/" + name;
}

CaptureOptions clock_options(std::uint64_t hz) {
  CaptureOptions options;
  options.events = {cpu_clock(hz)};
  return options;
}

// By perf, and by BPF as the daemon does it.
class Churn : public testing::TestWithParam<SampledBy> {
 protected:
  CaptureOptions options_at(std::uint64_t hz) const {
    CaptureOptions options = clock_options(hz);
    options.sampled_by = GetParam();
    return options;
  }
  // Must outlive the reader.
  OpenRecording opener() {
    return [this](os::Os& os, pid_t pid, const CaptureOptions& options) {
      return opener_.open(os, pid, options);
    };
  }
  static constexpr std::size_t kEnough = 2000;  // threads
  static constexpr int kLongest = 24'000;       // ms
  // Records a program that makes threads for so long. Sets `over` to false if they were too few.
  void make_threads(int ms, bool& over);

 private:
  bpf::Opener opener_;
};
INSTANTIATE_TEST_SUITE_P(Sources, Churn, testing::Values(SampledBy::kPerf, SampledBy::kBpf),
                         [](const auto& each) {
                           return each.param == SampledBy::kBpf ? std::string("Bpf") : "Perf";
                         });

// Every thread made after the attach is there, and none has two sets of events: that would give it two EXIT
// records. By BPF their samples stand for the CPU time they and their maker use.
void Churn::make_threads(int ms, bool& over) {
  over = true;  // unless it goes on
  ChildProcess child({target("thread_churn"), "5000", std::to_string(ms), "200"});
  ChunkCollector sink;
  CaptureReader reader(os::real(), sink, [](RecordingNumber, const CaptureCounts&) {}, opener());
  ASSERT_TRUE(reader.start().ok());
  ASSERT_TRUE(test::eventually([&] { return test::program_of(child.pid()) == "thread_churn"; }));
  CaptureOptions options = options_at(1000);
  options.placement = Placement::kPerThread;
  auto attached = reader.attach(child.pid(), options);
  if (!attached) GTEST_SKIP() << test::skip_if_denied(options, attached.error().message);
  const TimeNs attached_at = os::real().now();
  auto used_before = os::cpu_time_of(os::real(), child.pid());
  std::istringstream output(child.read_all());
  auto used = os::cpu_time_of(os::real(), child.pid());  // it has ended, and nobody has waited for it yet
  child.wait();
  reader.stop();
  sink.settle();

  std::map<std::int32_t, int> exits;
  std::set<std::int32_t> forks;
  for (const Event& event : sink.events.events) {
    if (event.kind == Kind::kExit) ++exits[event.tid];
    if (event.kind == Kind::kFork) forks.insert(event.tid);
  }
  std::size_t expected = 0, missed = 0, twice = 0;
  std::int32_t tid;
  TimeNs at;
  std::set<std::int32_t> made;
  bool reused = false;
  while (output >> tid >> at) {
    reused |= !made.insert(tid).second;
    if (at <= attached_at) continue;
    ++expected;
    missed += !forks.contains(tid);
    twice += exits[tid] > 1;
  }
  if (reused) GTEST_SKIP() << "the host reused thread ids meanwhile: they cannot be told apart";
  if (expected < kEnough && ms < kLongest) {
    over = false;  // a busy host makes few: once more, for longer
    return;
  }
  EXPECT_GE(expected, kEnough);
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(twice, 0u);
  EXPECT_EQ(sink.counts().lost, 0u);
  EXPECT_EQ(sink.counts().malformed, 0u);
  ASSERT_TRUE(used_before.ok() && used.ok());
  double sampled = 0;
  for (const Event& event : sink.events.events) {
    if (event.kind == Kind::kSample) sampled += static_cast<double>(event.weight);
  }
  const double covered = sampled / static_cast<double>(used->all() - used_before->all());
  if (GetParam() == SampledBy::kBpf) {
    // A loop of short threads may keep step with the timer for a while; samples counted twice would show.
    EXPECT_GT(covered, 0.75);
    EXPECT_LT(covered, 1.6);
  } else {
    // The twin: timers of threads begin anew with every thread. (Recorder changes over to those of CPUs.)
    EXPECT_LT(covered, 0.5);
  }
}

TEST_P(Churn, ThousandsOfThreads) {
  test::undisturbed([&] {
    bool over = false;
    for (int ms = 1500; !over; ms *= 2) make_threads(ms, over);
  });
}

TEST(ManyThreads, AThousandAtAttach) {
  ChildProcess child({target("idle_threads"), "1000"});
  ASSERT_EQ(child.read_line(), "ready");
  const std::size_t events = 1001 * os::online_cpus(os::real())->size();
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < events + 200)
    GTEST_SKIP() << "a process may have " << files.rlim_cur << " descriptors, and this needs " << events;
  auto recording = PerfRecording::open(os::real(), child.pid(), clock_options(100));
  if (!recording) GTEST_SKIP() << test::skip_if_denied(clock_options(100), recording.error().message);
  EXPECT_EQ((*recording)->event_count(), events);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// Counts what comes and goes, and keeps nothing.
class CountingSink : public ChunkSink {
 public:
  void on_ring(const RingLayout& layout) override { open_.insert(layout.ring); }
  void on_chunk(RingChunk&&) override {}
  void on_round(TimeNs) override { ++rounds_; }
  void on_ring_closed(RingIndex ring) override { open_.erase(ring); }
  std::size_t open() const { return open_.size(); }
  // Any thread. False: none of the next two rounds was made, of which one begins after this call.
  bool wait_for_a_round() const {
    return test::eventually([this, before = rounds_.load()] { return rounds_ >= before + 2; });
  }

 private:
  std::set<RingIndex> open_;
  std::atomic<std::size_t> rounds_ = 0;
};

// Descriptors and memory after a thousand recordings are those of after the first hundred.
TEST_P(Churn, AThousandAttachesAndDetachesLeaveNothing) {
  ChildProcess child({target("busy_threads"), "2", "60000", "wait"});
  ChildProcess other({target("idle_threads"), "1"});
  ASSERT_EQ(other.read_line(), "ready");
  CountingSink sink;
  int ended = 0;
  CaptureReader reader(
      os::real(), sink, [&ended](RecordingNumber, const CaptureCounts&) { ++ended; }, opener());
  ASSERT_TRUE(reader.start().ok());
  // One process is always recorded, as in a daemon at work: else each cycle would load the BPF program anew.
  auto stays = reader.attach(other.pid(), options_at(100));
  if (!stays) GTEST_SKIP() << test::skip_if_denied(options_at(100), stays.error().message);
  ASSERT_TRUE(sink.wait_for_a_round());  // its descriptors are all there
  const auto before = descriptors();
  constexpr int kFirst = 100, kCycles = 1000;
  std::size_t resident = 0;
  for (int i = 0; i < kCycles; ++i) {
    if (i == kFirst) resident = resident_bytes();
    auto attached = reader.attach(child.pid(), options_at(100));
    ASSERT_TRUE(attached.ok()) << attached.error().message;
    reader.remove(attached->id);
  }
  EXPECT_TRUE(test::eventually([before] { return descriptors() <= before; }))
      << descriptors() << " descriptors, " << before << " before";
  reader.stop();
  EXPECT_EQ(ended, kCycles + 1);
  EXPECT_EQ(sink.open(), 0u);
  // The rings of one recording take more.
  EXPECT_LT(resident_bytes(), resident + (std::size_t{512} << 10));
}

// Programs, maps and events of BPF are gone with the last recording.
TEST_P(Churn, TheLastRecordingTakesEverythingWithIt) {
  ChildProcess child({target("idle_threads"), "1"});
  ASSERT_EQ(child.read_line(), "ready");
  CountingSink sink;
  std::ptrdiff_t before = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 1) before = descriptors();
    CaptureReader reader(os::real(), sink, [](RecordingNumber, const CaptureCounts&) {}, opener());
    ASSERT_TRUE(reader.start().ok());
    auto attached = reader.attach(child.pid(), options_at(100));
    if (!attached) GTEST_SKIP() << test::skip_if_denied(options_at(100), attached.error().message);
    reader.stop();
  }
  EXPECT_LE(descriptors(), before);
}

// The host's last CPU and one that has just gone offline; CPU 0 is not there where there is another.
class HolesInTheCpuList : public test::ForwardingOs {
 public:
  explicit HolesInTheCpuList(int only) : only_(only) {
    for (const char* each : {"kernel", "fs", "bus"}) {
      std::error_code failed;
      std::filesystem::create_directory_symlink(std::filesystem::path("/sys") / each, sys_.path() / each,
                                                failed);
    }
    sys_.write("devices/system/cpu/online", std::to_string(only) + "," + std::to_string(only + 3) + "\n");
  }
  const std::filesystem::path& sys() const override { return sys_.path(); }
  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                   unsigned long flags) override {
    if (cpu != only_) return Error{"the CPU has gone", ENODEV};
    return ForwardingOs::perf_event_open(attr, pid, cpu, group, flags);
  }

 private:
  int only_;
  test::TemporaryDirectory sys_;
};

// A CPU's number is no place in a list: samples on the CPU that is there are all taken, and none is said to
// be of another.
TEST_P(Churn, HolesInTheListOfCpus) {
  test::undisturbed([&] {
    const int last = os::online_cpus(os::real())->back();
    HolesInTheCpuList os(last);
    ChildProcess child(
        {"/usr/bin/taskset", "-c", std::to_string(last), target("busy_threads"), "1", "300", "wait"});
    ASSERT_TRUE(test::eventually([&] { return test::program_of(child.pid()) == "busy_threads"; }));
    ChunkCollector sink;
    CaptureReader reader(os, sink, [](RecordingNumber, const CaptureCounts&) {}, opener());
    ASSERT_TRUE(reader.start().ok());
    auto attached = reader.attach(child.pid(), options_at(1000));
    if (!attached) GTEST_SKIP() << test::skip_if_denied(options_at(100), attached.error().message);
    auto used_before = os::cpu_time_of(os::real(), child.pid());
    child.send("\n");
    child.read_all();
    auto used = os::cpu_time_of(os::real(), child.pid());
    child.wait();
    reader.stop();
    sink.settle();
    ASSERT_TRUE(used_before.ok() && used.ok());
    double sampled = 0;
    for (const Event& event : sink.events.events) {
      if (event.kind != Kind::kSample) continue;
      EXPECT_EQ(event.cpu, static_cast<std::uint32_t>(last));
      sampled += static_cast<double>(event.weight);
    }
    EXPECT_NEAR(sampled / static_cast<double>(used->all() - used_before->all()), 1, 0.15);
    test::no_excuse(sink.counts().malformed == 0);
    EXPECT_EQ(sink.counts().malformed, 0u);
  });
}

}  // namespace
}  // namespace tailor::capture
