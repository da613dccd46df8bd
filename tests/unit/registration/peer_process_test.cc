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
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

std::string Stat(const std::string& name, int start) {
  std::string text = "1 (" + name + ") S";
  for (int field = 4; field < 22; ++field) text += " " + std::to_string(field);
  return text + " " + std::to_string(start) + " 0 0\n";
}

ucred Self() {
  return {::getpid(), ::getuid(), ::getgid()};
}

TEST(StartTime, SurvivesHostileNames) {
  EXPECT_EQ(ParseStartTime(Stat("weft", 4242)).value(), 4242u);
  EXPECT_EQ(ParseStartTime(Stat("a) S 1 2 (b", 4242)).value(), 4242u);
  EXPECT_EQ(ParseStartTime(Stat("new\nline ) ", 4242)).value(), 4242u);
  EXPECT_FALSE(ParseStartTime("").ok());
  EXPECT_FALSE(ParseStartTime("1 (x").ok());
  EXPECT_FALSE(ParseStartTime("1 (x) S 1 2 3").ok());
  EXPECT_FALSE(ParseStartTime("1 (x) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 -5").ok());
}

TEST(NamespaceIds, OuterAndInner) {
  auto ids = ParseNamespaceIds("Name:\tx\nNSpid:\t812\t40\t7\nNSpgid:\t1\n");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->outer, 812);
  EXPECT_EQ(ids->inner, 7);
  ids = ParseNamespaceIds("Name:\tx\nNSpid:\t812\n");
  EXPECT_EQ(ids->inner, 812);
  EXPECT_FALSE(ParseNamespaceIds("Name:\tx\n").ok());
  EXPECT_FALSE(ParseNamespaceIds("Name:\tx\nNSpid:\t\n").ok());
  EXPECT_FALSE(ParseNamespaceIds("Name:\tx\nNSpid:\t-4\n").ok());
  EXPECT_FALSE(ParseNamespaceIds("Name:\tx\nNSpid:\t99999999999\n").ok());
}

TEST(PeerProcess, KnowsThisOne) {
  auto peer = PeerProcess::Open("/proc", Self());
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_EQ(peer->id().pid, ::getpid());
  EXPECT_GT(peer->id().start, 0u);
  EXPECT_EQ(peer->TranslateTid(static_cast<std::uint32_t>(::syscall(SYS_gettid))), ::syscall(SYS_gettid));
  EXPECT_EQ(peer->TranslateTid(0), 0);
  EXPECT_EQ(peer->TranslateTid(~0u), 0);
}

TEST(PeerProcess, IsAnErrorWhenInvisibleOrGone) {
  EXPECT_FALSE(PeerProcess::Open("/proc", {0, 0, 0}).ok());
  FakeProc proc;
  EXPECT_FALSE(PeerProcess::Open(proc.root(), Self()).ok());
}

// An engine may ask for what is not there as often as it likes.
TEST(ThreadIds, UnknownOnesAreNotLookedForAgainAndAgain) {
  FakeProc proc;
  constexpr int kThreads = 50, kAsked = 2000;
  for (int i = 0; i < kThreads; ++i) {
    const std::string tid = std::to_string(900 + i);
    proc.Write("1/task/" + tid + "/status", "Name:\tx\nNSpid:\t" + tid + "\t" + std::to_string(1 + i) + "\n");
  }
  ThreadIds ids(proc.root() + "/1/task");
  const ThreadIds::Clock::time_point now{std::chrono::hours(1)};
  EXPECT_EQ(ids.outer_of(7, now), 906);
  for (int i = 0; i < kAsked; ++i) EXPECT_EQ(ids.outer_of(5000 + i, now), 0);
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(ids.outer_of(1 + i, now), 900 + i);
  EXPECT_LT(ids.files_read(), static_cast<std::uint64_t>(3 * kThreads));
  // A thread that came later is found once a look is allowed again, and a number that another one has is his.
  proc.Write("1/task/990/status", "Name:\tx\nNSpid:\t990\t77\n");
  const auto later = now + std::chrono::seconds(1);
  EXPECT_EQ(ids.outer_of(77, later), 990);
  proc.Write("1/task/990/status", "Name:\tx\nNSpid:\t990\t78\n");
  EXPECT_EQ(ids.outer_of(77, later + std::chrono::seconds(1)), 0);
  EXPECT_EQ(ids.outer_of(78, later + std::chrono::seconds(2)), 990);
}

TEST(PeerProcess, TranslatesThreadsOfANamespaceBelow) {
  FakeProc proc;
  std::string self = std::to_string(::getpid());
  proc.Write(self + "/stat", Stat("x", 5));
  proc.Write(self + "/status", "Name:\tx\nNSpid:\t" + self + "\t1\n");
  proc.Write(self + "/task/900/status", "Name:\tx\nNSpid:\t900\t1\n");
  proc.Write(self + "/task/901/status", "Name:\tx\nNSpid:\t901\t12\n");
  proc.Write(self + "/task/902/status", "rubbish");
  std::filesystem::create_directories(proc.root() + "/" + self + "/task/903");
  auto peer = PeerProcess::Open(proc.root(), Self());
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_EQ(peer->TranslateTid(12), 901);
  EXPECT_EQ(peer->TranslateTid(1), 900);
  EXPECT_EQ(peer->TranslateTid(13), 0);
}

}  // namespace
}  // namespace tailor::registration::testing
