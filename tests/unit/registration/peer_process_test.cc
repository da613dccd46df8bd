#include "daemon/registration/peer_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/registration/fake_proc.h"

namespace tailor::registration::testing {
namespace {

ucred self() {
  return {::getpid(), ::getuid(), ::getgid()};
}

TEST(StartTime, SurvivesHostileNames) {
  EXPECT_EQ(parse_start_time(stat_of("weft", 4242)).value(), 4242u);
  EXPECT_EQ(parse_start_time(stat_of("a) S 1 2 (b", 4242)).value(), 4242u);
  EXPECT_EQ(parse_start_time(stat_of("new\nline ) ", 4242)).value(), 4242u);
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

TEST(EffectiveUid, IsTheSecond) {
  EXPECT_EQ(parse_effective_uid("Name:\tx\nUid:\t1000\t0\t33\t44\nGid:\t5\t6\t7\t8\n").value(), 0u);
  EXPECT_EQ(parse_effective_uid("Name:\tx\nUid:\t0\t4294967294\t0\t0\n").value(), 4294967294u);
  EXPECT_FALSE(parse_effective_uid("Name:\tx\n").ok());
  EXPECT_FALSE(parse_effective_uid("Name:\tx\nUid:\t1000\n").ok());
  EXPECT_FALSE(parse_effective_uid("Name:\tx\nUid:\t1000\t-1\t0\t0\n").ok());
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

// By its own pidfd, where the kernel has one, and by its pid.
TEST(PeerProcess, IsWhoConnected) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd one(ends[0]), other(ends[1]);
  for (const int socket : {one.get(), -1}) {
    auto peer = PeerProcess::open("/proc", self(), socket);
    ASSERT_TRUE(peer.ok()) << peer.error().message;
    EXPECT_EQ(peer->id().pid, ::getpid());
    EXPECT_TRUE(peer->check_again().ok());
  }
}

// A process of root's has the number of a stranger's that connected and ended.
TEST(PeerProcess, OfAnotherUserThanTheConnectionIsRefused) {
  FakeProc proc;
  proc.be(5, 0);
  ucred stranger = self();
  stranger.uid = 1000;
  const auto peer = PeerProcess::open(proc.root(), stranger);
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(peer.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(peer.error().message.find("process " + std::to_string(::getpid()) + " runs as user 0"), 0u)
      << peer.error().message;
  proc.be(5, 1000);
  EXPECT_TRUE(PeerProcess::open(proc.root(), stranger).ok());
  // Root gives its rights away.
  ucred root = self();
  root.uid = 0;
  EXPECT_TRUE(PeerProcess::open(proc.root(), root).ok());
}

TEST(PeerProcess, IsLookedAtAgain) {
  FakeProc proc;
  ucred stranger = self();
  stranger.uid = 1000;
  proc.be(5, 1000);
  const auto peer = PeerProcess::open(proc.root(), stranger);
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_TRUE(peer->check_again().ok());
  proc.be(6, 1000);
  EXPECT_FALSE(peer->check_again().ok()) << "another process";
  proc.be(5, 0);
  EXPECT_FALSE(peer->check_again().ok()) << "it executed a program of root's";
  proc.forget();
  EXPECT_TRUE(peer->check_again().ok()) << "it has ended; what it said counts";
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
  proc.write(pid + "/stat", stat_of("x", 5));
  proc.write(pid + "/status", status_of(pid + "\t1", ::geteuid()));
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
