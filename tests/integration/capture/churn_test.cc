// Attaching to processes that do not hold still.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/capture/capture_reader.h"
#include "daemon/os/host_files.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"

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

// Every thread made after the attach is there, and none has two sets of events: that would give it two EXIT
// records.
TEST(Churn, ThousandsOfThreadsASecond) {
  ChildProcess child({target("thread_churn"), "5000", "1500"});
  ChunkCollector sink;
  CaptureReader reader(os::real(), sink, [](SessionId, const CaptureCounts&) {});
  ASSERT_TRUE(reader.start().ok());
  ::usleep(300'000);
  auto attached = reader.attach(child.pid(), clock_options(1000));
  if (!attached) GTEST_SKIP() << attached.error().message;
  TimeNs attached_at = os::real().now();
  std::istringstream output(child.read_all());
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
  EXPECT_GT(expected, 500u);
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(twice, 0u);
  EXPECT_EQ(sink.counts().lost, 0u);
  EXPECT_EQ(sink.counts().malformed, 0u);
}

TEST(Churn, AThousandThreadsAtAttach) {
  ChildProcess child({target("idle_threads"), "1000"});
  ASSERT_EQ(child.read_line(), "ready");
  auto session = CaptureSession::open(os::real(), child.pid(), clock_options(100));
  if (!session) GTEST_SKIP() << session.error().message;
  EXPECT_EQ((*session)->event_count(), 1001 * os::online_cpus(os::real())->size());
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
  void on_round(TimeNs) override {}
  void on_ring_closed(RingIndex ring) override { open_.erase(ring); }
  std::size_t open() const { return open_.size(); }

 private:
  std::set<RingIndex> open_;
};

// Descriptors and memory after a thousand recordings are those of after the first hundred.
TEST(Churn, AThousandAttachesAndDetachesLeaveNothing) {
  ChildProcess child({target("busy_threads"), "2", "60000", "wait"});
  CountingSink sink;
  int ended = 0;
  CaptureReader reader(os::real(), sink, [&ended](SessionId, const CaptureCounts&) { ++ended; });
  ASSERT_TRUE(reader.start().ok());
  const auto before = descriptors();
  constexpr int kFirst = 100, kCycles = 1000;
  std::size_t resident = 0;
  for (int i = 0; i < kCycles; ++i) {
    if (i == kFirst) resident = resident_bytes();
    auto attached = reader.attach(child.pid(), clock_options(100));
    if (!attached) GTEST_SKIP() << attached.error().message;
    reader.remove(attached->id);
  }
  reader.stop();
  EXPECT_EQ(ended, kCycles);
  EXPECT_LE(descriptors(), before);
  EXPECT_EQ(sink.open(), 0u);
  // The rings of one recording take more.
  EXPECT_LT(resident_bytes(), resident + (std::size_t{512} << 10));
}

}  // namespace
}  // namespace tailor::capture
