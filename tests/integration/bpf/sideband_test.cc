// Records of tasks from rings that all recordings share: each gets those of its process, and of its children
// where they count, and nobody else's.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/bpf/shared_sideband.h"
#include "daemon/os/os.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

// A process that takes a name when it is told to, by way of a child of its own if `by_child`.
class Named {
 public:
  Named(const char* name, bool by_child) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      char word = 0;
      (void)!::read(ends[0], &word, 1);
      if (by_child && ::fork() != 0) {
        ::wait(nullptr);
        ::_exit(0);
      }
      ::prctl(PR_SET_NAME, name);
      ::_exit(0);
    }
    ::close(ends[0]);
    tell_ = ends[1];
  }
  pid_t pid() const { return pid_; }
  void finish() {
    (void)!::write(tell_, "x", 1);
    ::close(tell_);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int tell_ = -1;
};

// The names that processes took in the records of a recording, and how many records there are by type.
struct Seen {
  std::set<std::string> names;
  std::map<std::uint32_t, int> types;
};

// Keeps the bytes of each ring.
class Bytes : public capture::ChunkSink {
 public:
  void on_ring(const capture::RingLayout&) override {}
  void on_chunk(capture::RingChunk&& chunk) override {
    std::vector<std::byte>& ring = rings[chunk.ring];
    ring.insert(ring.end(), chunk.bytes.begin(), chunk.bytes.end());
  }
  void on_round(TimeNs) override {}
  void on_ring_closed(capture::RingIndex) override {}
  std::map<capture::RingIndex, std::vector<std::byte>> rings;
};

Seen seen_by(capture::Recording& recording) {
  Bytes sink;
  recording.number_rings(7);
  recording.drain(sink);
  Seen seen;
  for (const auto& [ring, bytes] : sink.rings) {
    EXPECT_GE(ring, 7u);
    EXPECT_LT(ring, 7 + recording.ring_count());
    for (std::size_t at = 0; at + sizeof(perf_event_header) <= bytes.size();) {
      perf_event_header header;
      std::memcpy(&header, bytes.data() + at, sizeof header);
      ++seen.types[header.type];
      if (header.type == PERF_RECORD_COMM)
        seen.names.emplace(reinterpret_cast<const char*>(bytes.data() + at + sizeof header + 8));
      at += header.size;
    }
  }
  return seen;
}

TEST(SharedSideband, EachGetsTheRecordsOfItsProcess) {
  capture::CaptureOptions alone, family;
  family.follow_children = true;
  auto shared = SharedSideband::start(os::real(), alone);
  if (!shared)
    GTEST_SKIP() << test::skip_if_denied(test::perf_event_denied(-1, 0, true), shared.error().message);
  Named one("pg-one", false), child("pg-child", true), other("pg-other", true), nobody("pg-nobody", false);
  const auto of_one = (*shared)->add(one.pid(), alone);
  const auto of_child = (*shared)->add(child.pid(), family);
  const auto of_other = (*shared)->add(other.pid(), alone);
  for (Named* each : {&one, &child, &other, &nobody}) each->finish();
  const Seen first = seen_by(*of_one), second = seen_by(*of_child), third = seen_by(*of_other);
  EXPECT_EQ(first.names, std::set<std::string>{"pg-one"});
  EXPECT_EQ(first.types.at(PERF_RECORD_EXIT), 1);
  EXPECT_EQ(second.names, std::set<std::string>{"pg-child"});
  EXPECT_EQ(second.types.at(PERF_RECORD_FORK), 1);
  EXPECT_EQ(second.types.at(PERF_RECORD_EXIT), 2);
  EXPECT_TRUE(third.names.empty()) << "children are not its";
  EXPECT_EQ(third.types.at(PERF_RECORD_EXIT), 1);
  EXPECT_TRUE(seen_by(*of_one).types.empty()) << "each record once";
}

TEST(SharedSideband, IsOneForRecordingsThatWantTheSame) {
  capture::CaptureOptions options, larger, mapped;
  larger.ring_bytes = options.ring_bytes * 2;
  mapped.all_registers = true;
  auto shared = SharedSideband::start(os::real(), options);
  if (!shared)
    GTEST_SKIP() << test::skip_if_denied(test::perf_event_denied(-1, 0, true), shared.error().message);
  EXPECT_TRUE((*shared)->suits(options));
  EXPECT_FALSE((*shared)->suits(larger));
  EXPECT_FALSE((*shared)->suits(mapped));
  capture::CaptureOptions on_exec;
  on_exec.enable_on_exec = true;
  EXPECT_TRUE(can_share_sideband(options));
  EXPECT_FALSE(can_share_sideband(on_exec));
}

}  // namespace
}  // namespace tailor::bpf
