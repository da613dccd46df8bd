#include "daemon/registration/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "daemon/registration/limits.h"
#include "tests/unit/registration/fake_arena.h"
#include "tests/unit/registration/raw_agent.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;
using Body = v1::AgentMessage;

constexpr int kArenaSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kPayloadSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

Body plan(std::uint64_t id) {
  Body message;
  message.set_tsc(5);
  message.mutable_plan_load()->set_id(id);
  message.mutable_plan_load()->add_levels();
  return message;
}

UniqueFd arena_file(FakeArena& arena, int seals = kArenaSeals) {
  return memfd(std::string(reinterpret_cast<const char*>(arena.memory().get()), arena.bytes()), seals);
}

class ServerTest : public ::testing::Test {
 protected:
  RecordingSink& sink() { return server_.sink; }
  const Counters& counters() { return server_->counters(); }
  bool open(RawAgent& agent) {
    return agent.connected() && agent.hello() &&
           server_.until([&] { return sink().order.find('C') != std::string::npos; });
  }
  // The connection ends, for this reason.
  void expect_gone(GoneReason reason, const char* detail = "") {
    ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
    EXPECT_EQ(sink().gone[0].reason, reason);
    EXPECT_THAT(sink().gone[0].detail, HasSubstr(detail));
    EXPECT_EQ(server_->connection_count(), 0u);
  }

  TestServer server_;
};

TEST_F(ServerTest, AgentIsWhoTheKernelSays) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  EXPECT_EQ(sink().connected[0].process.pid, ::getpid());
  EXPECT_EQ(sink().connected[0].uid, ::getuid());
  EXPECT_EQ(sink().connected[0].hello.engine_name(), "raw");
  EXPECT_TRUE(agent.receive().hello_ack().sampling());
  agent.send(plan(1));
  agent.close();
  expect_gone(GoneReason::kHangup);
  EXPECT_EQ(sink().order, "CmG");
}

TEST_F(ServerTest, LargeMessagesComeInMemfds) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  Body big = plan(9);
  big.mutable_plan_load()->set_name(std::string(200'000, 'n'));
  std::string bytes = big.SerializeAsString();
  Body envelope;
  envelope.set_payload_bytes(bytes.size());
  agent.send(envelope, {memfd(bytes, kPayloadSeals).get()});
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.plan_load().name().size(), 200'000u);

  agent.send(envelope, {memfd(bytes, 0).get()});                          // may still change
  agent.send(envelope);                                                   // no descriptor
  agent.send(envelope, {memfd(bytes.substr(1), kPayloadSeals).get()});    // shorter than said
  agent.send(envelope, {UniqueFd(::open("/dev/zero", O_RDONLY)).get()});  // no memfd
  agent.send(envelope, {memfd(std::string(bytes.size(), '\xFF'), kPayloadSeals).get()});
  envelope.set_payload_bytes(~std::uint64_t{0});
  agent.send(envelope, {memfd(bytes, kPayloadSeals).get()});
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 6; }));
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("seals"));
  EXPECT_THAT(sink().rejected[1].what, HasSubstr("no descriptor"));
  EXPECT_THAT(sink().rejected[2].what, HasSubstr("bytes of"));
  EXPECT_THAT(sink().rejected[5].what, HasSubstr("too large"));
  EXPECT_EQ(counters().rejected, 6u);
  EXPECT_EQ(server_->connection_count(), 1u);  // it goes on
}

TEST_F(ServerTest, ArenasAreMappedAndDrained) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(2, 16);
  arena.begin_thread(static_cast<std::uint32_t>(::gettid()));
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 4);
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().activity.size() == 1 && !sink().settled.empty(); }));
  EXPECT_EQ(sink().activity[0].tid, ::gettid());
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_EQ(sink().arenas[0].arena->read_slot(0).tid, static_cast<std::uint32_t>(::gettid()));
}

TEST_F(ServerTest, ArenasThatCouldHurtAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(2, 16);
  FakeArena foreign(2, 16);
  foreign.header().magic = 0;
  agent.arena(arena_file(arena, F_SEAL_GROW), arena.bytes());  // could shrink under the mapping
  agent.arena(UniqueFd(), arena.bytes());
  agent.arena(arena_file(arena), arena.bytes() * 2);
  agent.arena(arena_file(arena), 0);
  agent.arena(arena_file(foreign), foreign.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 5; }));
  EXPECT_TRUE(sink().arenas.empty());
  agent.arena(arena_file(arena), arena.bytes());
  agent.arena(arena_file(arena), arena.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 6; }));
  EXPECT_EQ(sink().arenas.size(), 1u);
}

// Heads cost their writer nothing: one that claims full logs all the time gets its turn, and no more than
// that.
TEST_F(ServerTest, LogsThatAreAlwaysFullHoldNobodyUp) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  constexpr std::uint32_t kAreas = 100, kRecords = 1u << 15;
  FakeArena arena(kAreas, kRecords);
  for (std::uint32_t area = 0; area < kAreas; ++area) {
    arena.begin_thread(area + 1, area);
    arena.head(area) = kRecords;
  }
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  std::size_t most = 0, before = 0;
  ASSERT_TRUE(server_.until([&] {
    std::size_t now = counters().log_malformed;  // the records are zeroes: none has a known kind
    most = std::max(most, now - before);
    before = now;
    return now >= std::size_t{kAreas} * (kRecords - 2);
  }));
  EXPECT_LT(most, 2'000'000u);
}

TEST_F(ServerTest, NothingSettlesBeforeEverythingQueuedHasCome) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(1, 16);
  arena.header().messages_queued = 1;
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().arenas.size() == 1; }));
  server_.poll(10);
  EXPECT_TRUE(sink().settled.empty());
  agent.send(plan(1));
  std::uint64_t one = 1;
  ASSERT_EQ(::pwrite(file.get(), &one, 8, offsetof(tailor_arena_header, messages_settled)), 8);
  ASSERT_TRUE(server_.until([&] { return !sink().settled.empty(); }));
  EXPECT_EQ(sink().messages.size(), 1u);
}

TEST_F(ServerTest, TimesFromTheFutureAreSetToTheArrival) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  Body first = plan(1);
  first.set_tsc(~std::uint64_t{0});
  agent.send(first);
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.tsc(), sink().messages[0].received_tsc);
  EXPECT_EQ(counters().future_times, 1u);
}

TEST_F(ServerTest, LogRecordsFromTheFutureAreSetToTheArrival) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(1, 16);
  arena.begin_thread(static_cast<std::uint32_t>(::gettid()));
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = arena_file(arena);
  const std::uint64_t future = ~std::uint64_t{0} / 2;
  ASSERT_EQ(::pwrite(file.get(), &future, 8,
                     sizeof(tailor_arena_header) + TAILOR_AREA_LOG_OFFSET + TAILOR_LOG_RECORD_SIZE),
            8);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return !sink().activity.empty(); }));
  EXPECT_LE(sink().activity[0].records.at(0).tsc, __rdtsc());
  EXPECT_EQ(counters().future_times, 1u);
}

// Whoever is turned away hears why.
TEST_F(ServerTest, AnAgentOfAnotherProtocolIsToldSo) {
  RawAgent agent(server_.path());
  Body hello;
  hello.mutable_hello()->set_protocol(7);
  hello.mutable_hello()->set_session(std::string(16, 's'));
  agent.send(hello);
  ASSERT_TRUE(server_.until([&] { return sink().refused.size() == 1; }));
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("speaks protocol 7"));
  EXPECT_THAT(sink().refused[0].reason, HasSubstr("speaks protocol 7"));
  EXPECT_EQ(sink().refused[0].pid, ::getpid());
  EXPECT_EQ(counters().refusals.at("protocol"), 1u);
}

TEST_F(ServerTest, MoreProcessesThanAUserMayHaveAreToldSo) {
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
TEST_F(ServerTest, TooManyMessagesAreReadLater) {
  server_.stop();
  server_.options.user_messages_a_second = 50;
  server_.start();
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  (void)agent.receive();
  for (std::uint64_t id = 1; id <= 120; ++id) agent.send(plan(id));
  ASSERT_TRUE(server_.until([&] { return counters().paused > 0; }));
  EXPECT_LT(sink().messages.size(), 120u);
  EXPECT_EQ(agent.receive().limit_reached().limit(), "user-messages-per-second");
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 120; }));
  EXPECT_TRUE(sink().gone.empty());
}

// A large message costs its sender nothing once it is written, for it may be sent again and again: they are
// read one after the other, while small ones of others are read at once.
TEST_F(ServerTest, LargeMessagesDoNotHoldSmallOnesUp) {
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
  server_.poll(2);
  EXPECT_EQ(sink().messages.size(), 1u);
  EXPECT_LE(sink().rejected.size(), 2u);
  // The end of the process does not make anybody read on without a pause either.
  ::kill(hostile, SIGKILL);
  ::waitpid(hostile, nullptr, 0);
  std::size_t before = sink().rejected.size(), most = 0;
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

TEST_F(ServerTest, AMemoryFileFullOfHolesIsRefused) {
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

TEST_F(ServerTest, MoreLogsThanAProcessMayHaveAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  (void)agent.receive();
  FakeArena arena(4096, 16);
  UniqueFd file = arena_file(arena);
  for (std::uint32_t index = 0; index < 5; ++index) agent.arena(file, arena.bytes(), index);
  expect_gone(GoneReason::kRefused, "areas for logs");
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("areas for logs"));
}

std::uint64_t blocks_of(const UniqueFd& file) {
  struct stat info{};
  return ::fstat(file.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) : 0;
}

// Reading a hole would fill it, and on the daemon's account.
TEST_F(ServerTest, LogsThatWereNeverWrittenTakeNoMemory) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  constexpr std::uint32_t kAreas = 1000, kRecords = 1024;
  FakeArena layout(kAreas, kRecords);
  UniqueFd file(::memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(layout.bytes())), 0);
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  ASSERT_EQ(::pwrite(file.get(), &layout.header(), sizeof(tailor_arena_header), 0),
            static_cast<ssize_t>(sizeof(tailor_arena_header)));
  const auto area = [&](std::uint64_t number) {
    return static_cast<off_t>(sizeof(tailor_arena_header) +
                              number * (TAILOR_AREA_LOG_OFFSET + kRecords * TAILOR_LOG_RECORD_SIZE));
  };
  // One thread that says something, in the middle; and one whose head lies.
  layout.begin_thread(static_cast<std::uint32_t>(::gettid()), 500);
  layout.append(TAILOR_LOG_PIPELINE_BEGIN, 4, 0, 500);
  ASSERT_GT(::pwrite(file.get(), &layout.slot(500), 1024, area(500)), 0);
  const std::uint64_t lie = 1'000'000;
  ASSERT_EQ(::pwrite(file.get(), &lie, 8, area(700) + static_cast<off_t>(sizeof(tailor_slot))), 8);
  const std::uint64_t before = blocks_of(file);
  agent.arena(file, layout.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().activity.size() == 1 && sink().settled.size() > 3; }));
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_GT(counters().log_malformed, 0u);
  EXPECT_EQ(sink().lost(), 0u);
  EXPECT_EQ(blocks_of(file), before);
}

// A thousand engines, each its own process.
TEST_F(ServerTest, AThousandProcessesRegister) {
  constexpr std::size_t kProcesses = 1000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 3 * kProcesses) GTEST_SKIP() << "too few descriptors are allowed here";
  std::vector<pid_t> engines;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    const pid_t engine = ::fork();
    ASSERT_GE(engine, 0);
    if (engine == 0) {
      RawAgent agent(server_.path());
      for (int tries = 0; !agent.connected() && tries < 1000; ++tries) {
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

TEST_F(ServerTest, GarbageBeforeHelloEndsTheConnection) {
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

TEST_F(ServerTest, GarbageAfterHelloIsCountedAndEndsItInTheLongRun) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  for (std::size_t i = 0; i <= kMaxRejections; ++i) {
    agent.send_bytes("\xFF\xFFrubbish");
    server_.poll(1);
  }
  expect_gone(GoneReason::kProtocol, "too many");
  EXPECT_EQ(counters().rejected, kMaxRejections + 1);
}

TEST_F(ServerTest, OversizedPacketsAndSwarmsOfDescriptorsEndIt) {
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

TEST_F(ServerTest, ASecondHelloEndsIt) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.hello();
  expect_gone(GoneReason::kProtocol, "second hello");
}

TEST_F(ServerTest, OneAgentAProcess) {
  RawAgent first(server_.path());
  ASSERT_TRUE(open(first));
  RawAgent second(server_.path());
  second.hello(std::string(16, 't'));
  ASSERT_TRUE(server_.until([&] { return counters().refused == 1; }));
  EXPECT_THAT(second.receive().refusal().reason(), HasSubstr("registered already"));
  EXPECT_EQ(server_->connection_count(), 1u);
  // One that comes back is welcome, even before its end was noticed.
  first.close();
  RawAgent third(server_.path());
  third.hello();
  ASSERT_TRUE(server_.until([&] { return sink().connected.size() == 2; }));
  EXPECT_EQ(sink().order, "CGC");
}

TEST_F(ServerTest, AReconnectedAgentsLogGoesOnWhereItWas) {
  FakeArena arena(1, 16);
  arena.begin_thread(5);
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = arena_file(arena);
  for (int round = 0; round < 2; ++round) {
    RawAgent agent(server_.path());
    agent.hello();
    agent.arena(file, arena.bytes());
    ASSERT_TRUE(server_.until([&] { return sink().arenas.size() == static_cast<std::size_t>(round) + 1; }));
    server_.poll();
    agent.close();
    ASSERT_TRUE(server_.until([&] { return sink().gone.size() == static_cast<std::size_t>(round) + 1; }));
  }
  EXPECT_EQ(sink().records(TAILOR_LOG_PIPELINE_BEGIN), 1u);
}

TEST_F(ServerTest, AForkedChildCannotSpeakForItsParent) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  pid_t child = ::fork();
  if (child == 0) {
    agent.send(plan(66));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  agent.send(plan(1));
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.plan_load().id(), 1u);
  EXPECT_EQ(counters().foreign_packets, 1u);
}

TEST_F(ServerTest, TheEndOfAProcessIsSeenThoughItsChildHoldsTheSocket) {
  int block[2];
  ASSERT_EQ(::pipe(block), 0);
  pid_t engine = ::fork();
  if (engine == 0) {
    RawAgent agent(server_.path());
    agent.hello();
    agent.receive();
    if (::fork() == 0) {
      char c;
      ::close(block[1]);
      [[maybe_unused]] auto n = ::read(block[0], &c, 1);  // lives on, with the socket, until the test is over
    }
    ::_exit(0);
  }
  expect_gone(GoneReason::kProcessExit);
  ::close(block[0]);
  ::close(block[1]);
  ::waitpid(engine, nullptr, 0);
}

TEST_F(ServerTest, APeerThatDoesNotReadItsAnswersIsClosed) {
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

TEST_F(ServerTest, ASocketInUseIsAnErrorAStaleOneIsReplaced) {
  RecordingSink other;
  ServerOptions options;
  options.socket_path = server_.path();
  auto second = Server::listen(options, other);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another tailord"));
  // A daemon that was killed leaves its file behind.
  std::string stale = server_.path() + ".stale";
  {
    UniqueFd killed(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, stale.data(), stale.size());
    ASSERT_EQ(::bind(killed.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  options.socket_path = stale;
  auto third = Server::listen(options, other);
  EXPECT_TRUE(third.ok()) << third.error().message;
  options.socket_path = "/nonexistent/agent.sock";
  EXPECT_FALSE(Server::listen(options, other).ok());
  options.socket_path = std::string(200, 'x');
  EXPECT_FALSE(Server::listen(options, other).ok());
}

TEST_F(ServerTest, ConnectionsDoNotAddUp) {
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
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace tailor::registration::testing
