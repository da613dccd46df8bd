// Closing what strangers sent delays nobody else.
#include "daemon/registration/descriptor_closer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/registration/limits.h"
#include "daemon/registration/packet.h"
#include "tests/support/lingering_socket.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

// Closing takes until somebody lets it.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// What was closed, and a way to wait for it.
class Closed {
 public:
  void note(int fd) {
    ::close(fd);
    std::lock_guard lock(mutex_);
    fds_.push_back(fd);
    changed_.notify_all();
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return fds_.size() >= count; });
  }
  std::vector<int> fds() {
    std::lock_guard lock(mutex_);
    return fds_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> fds_;
};

UniqueFd some_file() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// Each of the users 0 to `count` - 1 has one descriptor that is closed only when the gate is open.
struct SlowUsers {
  explicit SlowUsers(std::uint32_t count)
      : closer([this](int fd) {
          if (fds.contains(fd)) gate.wait();
          closed.note(fd);
        }) {
    std::vector<UniqueFd> slow;
    for (std::uint32_t uid = 0; uid < count; ++uid) fds.insert(slow.emplace_back(some_file()).get());
    for (std::uint32_t uid = 0; uid < count; ++uid) closer.close(uid, std::move(slow[uid]));
  }

  Gate gate;
  Closed closed;
  std::set<int> fds;
  DescriptorCloser closer;  // its threads use the others: it ends first
};

TEST(DescriptorCloserTest, OneUsersWaitIsHisOwn) {
  Gate gate;
  Closed closed;
  UniqueFd slow = some_file(), behind = some_file(), others = some_file();
  const int slow_fd = slow.get(), behind_fd = behind.get(), others_fd = others.get();
  DescriptorCloser closer([&](int fd) {
    if (fd == slow_fd) gate.wait();
    closed.note(fd);
  });
  closer.close(1, std::move(slow));
  closer.close(1, std::move(behind));
  closer.close(2, std::move(others));
  closed.wait_for(1);
  EXPECT_EQ(closed.fds(), std::vector{others_fd});
  EXPECT_EQ(closer.pending(1).descriptors, 2u);
  EXPECT_EQ(closer.pending(1).connections, 0u);
  gate.open();
  closed.wait_for(3);
  EXPECT_EQ(closed.fds(), (std::vector{others_fd, slow_fd, behind_fd}));
}

TEST(DescriptorCloserTest, ManyUsersAreServedThoughSomeWait) {
  constexpr std::uint32_t kSlow = 10, kUsers = 200;
  SlowUsers slow(kSlow);
  DescriptorCloser& closer = slow.closer;
  Closed& closed = slow.closed;
  for (std::uint32_t uid = kSlow; uid < kUsers; ++uid) closer.close(uid, some_file());
  closed.wait_for(kUsers - kSlow);
  slow.gate.open();
  closed.wait_for(kUsers);
}

// Twin: on the same threads no memory file is closed while the strange descriptors wait, and after some of
// them no process is read.
TEST(DescriptorCloserTest, MemoryFilesWaitForNoOtherDescriptor) {
  constexpr std::uint32_t kSlow = 50;
  SlowUsers slow(kSlow);
  DescriptorCloser& closer = slow.closer;
  Closed& closed = slow.closed;
  closer.close_memory(0, memfd("x", 0));
  closer.close_memory(kSlow, memfd("x", 0));
  closed.wait_for(2);
  for (const int fd : closed.fds()) EXPECT_FALSE(slow.fds.contains(fd));
  slow.gate.open();
  closed.wait_for(kSlow + 2);
}

TEST(DescriptorCloserTest, KnowsMemoryFiles) {
  EXPECT_TRUE(is_memory_file(memfd("x", 0).get()));
  EXPECT_TRUE(is_memory_file(memfd("x", kArenaSeals).get()));
  EXPECT_FALSE(is_memory_file(some_file().get()));
  EXPECT_FALSE(is_memory_file(UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)).get()));
}

class ForeignDescriptorsTest : public ServerFixture {};

// Twin: with the close in poll() this takes a minute for each, and ctest ends the test.
TEST_F(ForeignDescriptorsTest, ASocketThatLingersDelaysNoOtherProcess) {
  LingeringSocket with_message, with_many, unread;
  ASSERT_TRUE(with_message.ours && with_many.ours && unread.ours);
  RawAgent hostile(server_.path());
  ASSERT_TRUE(open(hostile));
  const int fd = with_message.ours.get();
  hostile.send(plan(1), {fd});
  hostile.send(plan(2), std::vector<int>(3, with_many.ours.get()));
  hostile.send(plan(3), {unread.ours.get()});
  // Now only packets hold them.
  for (LingeringSocket* each : {&with_message, &with_many, &unread}) each->ours.reset();
  expect_gone(GoneReason::kProtocol, "more bytes or descriptors");
  EXPECT_EQ(sink().messages.size(), 1u);
  // What is still open there wakes nobody.
  const auto before = std::chrono::steady_clock::now();
  server_->poll(200);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(200));
  for (LingeringSocket* each : {&with_message, &with_many, &unread}) each->theirs.reset();
}

UniqueFd named_file(const char* name, const std::string& bytes, int seals) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  [[maybe_unused]] const auto written = ::write(file.get(), bytes.data(), bytes.size());
  ::fcntl(file.get(), F_ADD_SEALS, seals);
  return file;
}

// Descriptors and mappings that this process has of memory files of this name.
std::size_t held_of(const std::string& name) {
  std::size_t held = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each.path(), gone).string().find("memfd:" + name + " ") !=
        std::string::npos)
      ++held;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    held += line.find("memfd:" + name + " ") != std::string::npos ? 1 : 0;
  return held;
}

// To free one can take long: it may have gigabytes. Twin: without freed_elsewhere() and close_memory() they
// are gone before the gate opens.
TEST_F(ForeignDescriptorsTest, MemoryFilesAreFreedByAThreadOfTheirUser) {
  const auto gate = std::make_shared<Gate>();
  server_.stop();
  server_.options.close = [gate](int fd) {
    gate->wait();
    ::close(fd);
  };
  server_.start();
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(2, 16);
  const std::string memory(reinterpret_cast<const char*>(arena.memory().get()), arena.bytes());
  agent.arena(named_file("tailor-arena", memory, kArenaSeals), arena.bytes());
  agent.send(plan(1), {named_file("tailor-beside", "x", 0).get()});
  const std::string large = plan(2).SerializeAsString();
  Body envelope;
  envelope.set_payload_bytes(large.size());
  agent.send(envelope, {named_file("tailor-payload", large, kPayloadSeals).get()});
  agent.send_bytes("", {named_file("tailor-last", "x", 0).get()});
  expect_gone(GoneReason::kHangup);
  EXPECT_EQ(sink().messages.size(), 2u);
  ASSERT_EQ(sink().arenas.size(), 1u);
  sink().arenas.clear();                   // nobody reads it any more
  EXPECT_EQ(held_of("tailor-arena"), 3u);  // as it came, as it is kept, and mapped
  const std::vector<std::string> others{"tailor-beside", "tailor-payload", "tailor-last"};
  for (const std::string& name : others) EXPECT_EQ(held_of(name), 1u) << name;
  gate->open();
  const auto all = [&] {
    std::size_t held = held_of("tailor-arena");
    for (const std::string& name : others) held += held_of(name);
    return held;
  };
  EXPECT_TRUE(server_.until([&] { return all() == 0; }));
}

// A process that sends them faster than they can be freed is read later.
TEST_F(ForeignDescriptorsTest, WhoseMemoryFilesWaitIsReadLater) {
  const auto gate = std::make_shared<Gate>();
  server_.stop();
  server_.options.close = [gate](int fd) {
    gate->wait();
    ::close(fd);
  };
  server_.start();
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  const UniqueFd file = named_file("tailor-many", "x", 0);
  std::size_t sent = 0;
  const auto say = [&] {
    // Not more than its socket takes.
    for (int i = 0; i < 5 && sent < kMostMemoryFiles + 100; ++i) agent.send(plan(++sent), {file.get()});
    return counters().pauses.contains("user-descriptors");
  };
  ASSERT_TRUE(server_.until(say));
  EXPECT_GE(sink().messages.size(), kMostMemoryFiles);
  EXPECT_LT(sink().messages.size(), kMostMemoryFiles + 2 * kPacketsAShare);
  gate->open();
  ASSERT_TRUE(server_.until([&] {
    (void)say();
    return sink().messages.size() == kMostMemoryFiles + 100;
  }));
}

}  // namespace
}  // namespace tailor::registration::testing
