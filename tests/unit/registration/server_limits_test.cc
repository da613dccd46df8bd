// What one peer may cost, and what is garbage.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "daemon/registration/limits.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

class ServerLimitsTest : public ServerFixture {};

TEST_F(ServerLimitsTest, MoreProcessesThanAUserMayHaveAreToldSo) {
  server_.stop();
  server_.options.user_processes = 2;
  server_.start();
  RawAgent one(server_.path()), two(server_.path()), three(server_.path());
  ASSERT_TRUE(server_.until([&] { return sink().refused.size() == 1; }));
  EXPECT_THAT(three.receive().refusal().reason(), HasSubstr("user-processes"));
  EXPECT_EQ(counters().refusals.at("user-processes"), 1u);
  EXPECT_EQ(server_->connection_count(), 2u);
}

// Too many messages wait in their sockets, and their agent is told; none is lost.
TEST_F(ServerLimitsTest, TooManyMessagesAreReadLater) {
  server_.stop();
  server_.options.user_messages_a_second = 50;
  server_.start();
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  (void)agent.receive();
  for (std::uint64_t id = 1; id <= 120; ++id) agent.send(plan(id));
  ASSERT_TRUE(server_.until([&] { return counters().pauses.contains("user-messages-per-second"); }));
  EXPECT_LT(sink().messages.size(), 120u);
  EXPECT_EQ(agent.receive().limit_reached().limit(), "user-messages-per-second");
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 120; }));
  EXPECT_TRUE(sink().gone.empty());
}

// One call takes a bounded number of messages, however many processes say much. A process that said little
// does not wait for all of theirs.
TEST_F(ServerLimitsTest, OneCallTakesABoundedNumberOfMessages) {
  constexpr std::size_t kLoud = 20, kEach = 150, kAll = kLoud * kEach + 1;
  server_.stop();
  server_.options.user_messages_a_second = 0;
  server_.start();
  RawAgent quiet(server_.path());
  ASSERT_TRUE(open(quiet));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  std::vector<pid_t> loud(kLoud);
  for (pid_t& each : loud) {
    each = ::fork();
    if (each != 0) continue;
    RawAgent agent(server_.path());
    agent.hello();
    for (std::uint64_t id = 1; id <= kEach; ++id) agent.send(plan(id));
    [[maybe_unused]] auto told = ::write(ready[1], "x", 1);
    ::pause();
  }
  char c;
  for (std::size_t i = 0; i < kLoud; ++i) ASSERT_EQ(::read(ready[0], &c, 1), 1);
  // In a memory file: such a message is handled in the call after the one that found it.
  const std::string content = plan(777).SerializeAsString();
  const UniqueFd file = memfd(content, kPayloadSeals);
  Body envelope;
  envelope.set_payload_bytes(content.size());
  quiet.send(envelope, {file.get()});
  std::size_t most = 0, when_quiet_was_read = 0;
  for (std::size_t before = sink().messages.size(); before < kAll; before = sink().messages.size()) {
    server_.poll(1);
    most = std::max(most, sink().messages.size() - before);
    const bool is_read = std::ranges::any_of(
        sink().messages, [](const PeerMessage& each) { return each.message.plan_load().id() == 777; });
    if (is_read && when_quiet_was_read == 0) when_quiet_was_read = sink().messages.size();
  }
  EXPECT_LE(most, kMessagesAPoll);
  EXPECT_LT(when_quiet_was_read, kAll - 100);
  for (const pid_t each : loud) {
    ::kill(each, SIGKILL);
    ::waitpid(each, nullptr, 0);
  }
  ::close(ready[0]);
  ::close(ready[1]);
}

// A large message costs its sender nothing once it is written, for it may be sent again and again: they are
// read one after the other, while small ones of others are read at once.
TEST_F(ServerLimitsTest, LargeMessagesDoNotHoldSmallOnesUp) {
  constexpr int kSent = 20;
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t hostile = ::fork();
  if (hostile == 0) {
    RawAgent agent(server_.path());
    agent.hello();
    (void)agent.receive();
    const UniqueFd large = memfd(std::string(kBytesAPoll, '\xFF'), kPayloadSeals);
    Body envelope;
    envelope.set_payload_bytes(kBytesAPoll);
    for (int i = 0; i < kSent; ++i) agent.send(envelope, {large.get()});
    [[maybe_unused]] auto told = ::write(go[1], "x", 1);
    ::pause();
  }
  RawAgent agent(server_.path());
  ASSERT_TRUE(server_.until([&] { return sink().connected.size() == 1; }));
  agent.hello();
  ASSERT_TRUE(server_.until([&] { return sink().connected.size() == 2; }));
  char c;
  ASSERT_EQ(::read(go[0], &c, 1), 1);
  agent.send(plan(1));
  // Some may have been read while the second agent connected.
  std::size_t before = sink().rejected.size(), most = 0;
  server_.poll(2);
  EXPECT_EQ(sink().messages.size(), 1u);
  EXPECT_LE(sink().rejected.size() - before, 2u);
  // The end of the process does not make anybody read on without a pause either.
  ::kill(hostile, SIGKILL);
  ::waitpid(hostile, nullptr, 0);
  before = sink().rejected.size();
  ASSERT_TRUE(server_.until([&] {
    most = std::max(most, sink().rejected.size() - before);
    before = sink().rejected.size();
    return !sink().gone.empty();
  }));
  EXPECT_LE(most, 1u);
  EXPECT_EQ(sink().rejected.size(), std::size_t{kSent});
  ::close(go[0]);
  ::close(go[1]);
}

TEST_F(ServerLimitsTest, AMemoryFileFullOfHolesIsRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  UniqueFd holes(::memfd_create("holes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(holes.get(), kMaxMessageBytes), 0);
  ::fcntl(holes.get(), F_ADD_SEALS, kPayloadSeals);
  Body envelope;
  envelope.set_payload_bytes(kMaxMessageBytes);
  agent.send(envelope, {holes.get()});
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 1; }));
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("holes"));
}

// A thousand engines, each its own process.
TEST_F(ServerLimitsTest, AThousandProcessesRegister) {
  constexpr std::size_t kProcesses = 1000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 3 * kProcesses) GTEST_SKIP() << "too few descriptors are allowed here";
  server_.stop();
  server_.start();  // a user's share of them
  std::vector<pid_t> engines;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    const pid_t engine = ::fork();
    ASSERT_GE(engine, 0);
    if (engine == 0) {
      RawAgent agent(server_.path());
      for (int tries = 0; !agent.connected() && tries < 12'000; ++tries) {
        ::usleep(10'000);
        agent = RawAgent(server_.path());
      }
      agent.hello();
      ::pause();
    }
    engines.push_back(engine);
    if (i % 50 == 0) server_.poll(1);
  }
  EXPECT_TRUE(server_.until([&] { return sink().connected.size() == kProcesses; }, 120));
  EXPECT_EQ(server_->connection_count(), kProcesses);
  for (const pid_t engine : engines) ::kill(engine, SIGKILL);
  for (const pid_t engine : engines) ::waitpid(engine, nullptr, 0);
  EXPECT_TRUE(server_.until([&] { return sink().gone.size() == kProcesses; }, 120));
}

TEST_F(ServerLimitsTest, GarbageBeforeHelloEndsTheConnection) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), std::string(60'000, '\xFF'),
                                   plan(1).SerializeAsString(), std::string(1, '\0')}) {
    RawAgent agent(server_.path());
    agent.send_bytes(bytes);
    std::uint64_t before = counters().protocol_errors;
    ASSERT_TRUE(server_.until([&] { return counters().protocol_errors == before + 1; }));
    EXPECT_EQ(server_->connection_count(), 0u);
  }
  EXPECT_TRUE(sink().connected.empty());
  EXPECT_TRUE(sink().gone.empty());
}

TEST_F(ServerLimitsTest, GarbageAfterHelloIsCountedAndEndsItInTheLongRun) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  for (std::size_t i = 0; i <= kMaxRejections; ++i) {
    agent.send_bytes("\xFF\xFFrubbish");
    server_.poll(1);
  }
  expect_gone(GoneReason::kProtocol, "too many");
  EXPECT_EQ(counters().rejected, kMaxRejections + 1);
}

TEST_F(ServerLimitsTest, OversizedPacketsAndSwarmsOfDescriptorsEndIt) {
  {
    RawAgent agent(server_.path());
    ASSERT_TRUE(open(agent));
    agent.send_bytes(std::string(kMaxPacketBytes + 1, '\0'));
    expect_gone(GoneReason::kProtocol, "more bytes or descriptors");
  }
  sink() = RecordingSink();
  sink().server = &*server_;
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  UniqueFd file = memfd("x", 0);
  agent.send(plan(1), std::vector<int>(50, file.get()));
  expect_gone(GoneReason::kProtocol, "more bytes or descriptors");
  EXPECT_TRUE(sink().messages.empty());
}

TEST_F(ServerLimitsTest, APeerThatDoesNotReadItsAnswersIsClosed) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  Body barrier;
  barrier.mutable_barrier()->set_sequence(1);
  for (int i = 0; i < 100'000 && sink().gone.empty(); ++i) {
    if (!agent.send(barrier)) break;
    if (i % 20 == 0) server_.poll(1);
  }
  expect_gone(GoneReason::kProtocol, "answers");
}

TEST_F(ServerLimitsTest, ConnectionsDoNotAddUp) {
  auto descriptors = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0;
    return count;
  };
  int before = descriptors();
  FakeArena arena(1, 16);
  for (int i = 0; i < 200; ++i) {
    RawAgent agent(server_.path());
    agent.hello(std::string(15, 's') + static_cast<char>(i));
    agent.arena(arena_file(arena), arena.bytes());
    server_.poll(1);
    agent.close();
    server_.poll(1);
  }
  ASSERT_TRUE(server_.until([&] { return sink().gone.size() == 200; }));
  sink().arenas.clear();
  // Threads of the server close connections, and some of an earlier server may have been open before.
  EXPECT_TRUE(server_.until([&] { return descriptors() <= before; })) << descriptors() << " of " << before;
}

}  // namespace
}  // namespace tailor::registration::testing
