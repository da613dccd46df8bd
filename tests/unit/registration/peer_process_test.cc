#include "daemon/registration/peer_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tailor::registration::testing {
namespace {

// A directory that looks like /proc for one process.
class FakeProc {
 public:
  FakeProc() {
    char name[] = "/tmp/tailor-proc-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~FakeProc() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

std::string stat(const std::string& name, int start) {
  std::string text = "1 (" + name + ") S";
  for (int field = 4; field < 22; ++field) text += " " + std::to_string(field);
  return text + " " + std::to_string(start) + " 0 0\n";
}

ucred self() {
  return {::getpid(), ::getuid(), ::getgid()};
}

TEST(StartTime, SurvivesHostileNames) {
  EXPECT_EQ(parse_start_time(stat("weft", 4242)).value(), 4242u);
  EXPECT_EQ(parse_start_time(stat("a) S 1 2 (b", 4242)).value(), 4242u);
  EXPECT_EQ(parse_start_time(stat("new\nline ) ", 4242)).value(), 4242u);
  EXPECT_FALSE(parse_start_time("").ok());
  EXPECT_FALSE(parse_start_time("1 (x").ok());
  EXPECT_FALSE(parse_start_time("1 (x) S 1 2 3").ok());
  EXPECT_FALSE(parse_start_time("1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 -5").ok());
}

TEST(NamespaceIds, OuterAndInner) {
  auto ids = parse_namespace_ids("Name:\tx\nNSpid:\t812\t40\t7\nNSpgid:\t1\n");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->outer, 812);
  EXPECT_EQ(ids->inner, 7);
  ids = parse_namespace_ids("Name:\tx\nNSpid:\t812\n");
  EXPECT_EQ(ids->inner, 812);
  EXPECT_FALSE(parse_namespace_ids("Name:\tx\n").ok());
  EXPECT_FALSE(parse_namespace_ids("Name:\tx\nNSpid:\t\n").ok());
  EXPECT_FALSE(parse_namespace_ids("Name:\tx\nNSpid:\t-4\n").ok());
  EXPECT_FALSE(parse_namespace_ids("Name:\tx\nNSpid:\t99999999999\n").ok());
}

TEST(PeerProcess, KnowsThisOne) {
  auto peer = PeerProcess::open("/proc", self());
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_EQ(peer->id().pid, ::getpid());
  EXPECT_GT(peer->id().start, 0u);
  EXPECT_EQ(peer->translate_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid))), ::syscall(SYS_gettid));
  EXPECT_EQ(peer->translate_tid(0), 0);
  EXPECT_EQ(peer->translate_tid(~0u), 0);
}

TEST(PeerProcess, IsAnErrorWhenInvisibleOrGone) {
  EXPECT_FALSE(PeerProcess::open("/proc", {0, 0, 0}).ok());
  FakeProc proc;
  EXPECT_FALSE(PeerProcess::open(proc.root(), self()).ok());
}

// An engine may ask for what is not there as often as it likes.
TEST(ThreadIds, UnknownOnesAreNotLookedForAgainAndAgain) {
  FakeProc proc;
  constexpr int kThreads = 50, kAsked = 2000;
  for (int i = 0; i < kThreads; ++i) {
    const std::string tid = std::to_string(900 + i);
    proc.write("1/task/" + tid + "/status", "Name:\tx\nNSpid:\t" + tid + "\t" + std::to_string(1 + i) + "\n");
  }
  ThreadIds ids(proc.root() + "/1/task");
  const ThreadIds::Clock::time_point now{std::chrono::hours(1)};
  EXPECT_EQ(ids.outer_of(7, now), 906);
  for (int i = 0; i < kAsked; ++i) EXPECT_EQ(ids.outer_of(5000 + i, now), 0);
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(ids.outer_of(1 + i, now), 900 + i);
  EXPECT_LT(ids.files_read(), static_cast<std::uint64_t>(3 * kThreads));
  // A thread that came later is found once a look is allowed again, and a number that another one has is his.
  proc.write("1/task/990/status", "Name:\tx\nNSpid:\t990\t77\n");
  const auto later = now + std::chrono::seconds(1);
  EXPECT_EQ(ids.outer_of(77, later), 990);
  proc.write("1/task/990/status", "Name:\tx\nNSpid:\t990\t78\n");
  EXPECT_EQ(ids.outer_of(77, later + std::chrono::seconds(1)), 0);
  EXPECT_EQ(ids.outer_of(78, later + std::chrono::seconds(2)), 990);
}

TEST(PeerProcess, TranslatesThreadsOfANamespaceBelow) {
  FakeProc proc;
  std::string pid = std::to_string(::getpid());
  proc.write(pid + "/stat", stat("x", 5));
  proc.write(pid + "/status", "Name:\tx\nNSpid:\t" + pid + "\t1\n");
  proc.write(pid + "/task/900/status", "Name:\tx\nNSpid:\t900\t1\n");
  proc.write(pid + "/task/901/status", "Name:\tx\nNSpid:\t901\t12\n");
  proc.write(pid + "/task/902/status", "rubbish");
  std::filesystem::create_directories(proc.root() + "/" + pid + "/task/903");
  auto peer = PeerProcess::open(proc.root(), self());
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_EQ(peer->translate_tid(12), 901);
  EXPECT_EQ(peer->translate_tid(1), 900);
  EXPECT_EQ(peer->translate_tid(13), 0);
}

}  // namespace
}  // namespace tailor::registration::testing
