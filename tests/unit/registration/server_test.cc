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

Body Plan(std::uint64_t id) {
  Body message;
  message.set_tsc(5);
  message.mutable_plan_load()->set_id(id);
  message.mutable_plan_load()->add_levels();
  return message;
}

UniqueFd ArenaFile(FakeArena& arena, int seals = kArenaSeals) {
  return Memfd(std::string(reinterpret_cast<const char*>(arena.memory().get()), arena.bytes()), seals);
}

class ServerTest : public ::testing::Test {
 protected:
  RecordingSink& sink() { return server_.sink; }
  const Counters& counters() { return server_->counters(); }
  bool Open(RawAgent& agent) {
    return agent.connected() && agent.Hello() &&
           server_.Until([&] { return sink().order.find('C') != std::string::npos; });
  }
  // The connection ends, for this reason.
  void ExpectGone(GoneReason reason, const char* detail = "") {
    ASSERT_TRUE(server_.Until([&] { return !sink().gone.empty(); }));
    EXPECT_EQ(sink().gone[0].reason, reason);
    EXPECT_THAT(sink().gone[0].detail, HasSubstr(detail));
    EXPECT_EQ(server_->connection_count(), 0u);
  }

  TestServer server_;
};

TEST_F(ServerTest, AgentIsWhoTheKernelSays) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  EXPECT_EQ(sink().connected[0].process.pid, ::getpid());
  EXPECT_EQ(sink().connected[0].uid, ::getuid());
  EXPECT_EQ(sink().connected[0].hello.engine_name(), "raw");
  EXPECT_TRUE(agent.Receive().hello_ack().sampling());
  agent.Send(Plan(1));
  agent.Close();
  ExpectGone(GoneReason::kHangup);
  EXPECT_EQ(sink().order, "CmG");
}

TEST_F(ServerTest, LargeMessagesComeInMemfds) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  Body big = Plan(9);
  big.mutable_plan_load()->set_name(std::string(200'000, 'n'));
  std::string bytes = big.SerializeAsString();
  Body envelope;
  envelope.set_payload_bytes(bytes.size());
  agent.Send(envelope, {Memfd(bytes, kPayloadSeals).get()});
  ASSERT_TRUE(server_.Until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.plan_load().name().size(), 200'000u);

  agent.Send(envelope, {Memfd(bytes, 0).get()});                          // may still change
  agent.Send(envelope);                                                   // no descriptor
  agent.Send(envelope, {Memfd(bytes.substr(1), kPayloadSeals).get()});    // shorter than said
  agent.Send(envelope, {UniqueFd(::open("/dev/zero", O_RDONLY)).get()});  // no memfd
  agent.Send(envelope, {Memfd(std::string(bytes.size(), '\xFF'), kPayloadSeals).get()});
  envelope.set_payload_bytes(~std::uint64_t{0});
  agent.Send(envelope, {Memfd(bytes, kPayloadSeals).get()});
  ASSERT_TRUE(server_.Until([&] { return sink().rejected.size() == 6; }));
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("seals"));
  EXPECT_THAT(sink().rejected[1].what, HasSubstr("no descriptor"));
  EXPECT_THAT(sink().rejected[2].what, HasSubstr("bytes of"));
  EXPECT_THAT(sink().rejected[5].what, HasSubstr("too large"));
  EXPECT_EQ(counters().rejected, 6u);
  EXPECT_EQ(server_->connection_count(), 1u);  // it goes on
}

TEST_F(ServerTest, ArenasAreMappedAndDrained) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  FakeArena arena(2, 16);
  arena.BeginThread(static_cast<std::uint32_t>(::gettid()));
  arena.Append(TAILOR_LOG_PIPELINE_BEGIN, 4);
  UniqueFd file = ArenaFile(arena);
  agent.Arena(file, arena.bytes());
  ASSERT_TRUE(server_.Until([&] { return sink().activity.size() == 1 && !sink().settled.empty(); }));
  EXPECT_EQ(sink().activity[0].tid, ::gettid());
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_EQ(sink().arenas[0].arena->ReadSlot(0).tid, static_cast<std::uint32_t>(::gettid()));
}

TEST_F(ServerTest, ArenasThatCouldHurtAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  FakeArena arena(2, 16);
  FakeArena foreign(2, 16);
  foreign.header().magic = 0;
  agent.Arena(ArenaFile(arena, F_SEAL_GROW), arena.bytes());  // could shrink under the mapping
  agent.Arena(UniqueFd(), arena.bytes());
  agent.Arena(ArenaFile(arena), arena.bytes() * 2);
  agent.Arena(ArenaFile(arena), 0);
  agent.Arena(ArenaFile(foreign), foreign.bytes());
  ASSERT_TRUE(server_.Until([&] { return sink().rejected.size() == 5; }));
  EXPECT_TRUE(sink().arenas.empty());
  agent.Arena(ArenaFile(arena), arena.bytes());
  agent.Arena(ArenaFile(arena), arena.bytes());
  ASSERT_TRUE(server_.Until([&] { return sink().rejected.size() == 6; }));
  EXPECT_EQ(sink().arenas.size(), 1u);
}

// Heads cost their writer nothing: one that claims full logs all the time gets its turn, and no more than
// that.
TEST_F(ServerTest, LogsThatAreAlwaysFullHoldNobodyUp) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  constexpr std::uint32_t kAreas = 100, kRecords = 1u << 15;
  FakeArena arena(kAreas, kRecords);
  for (std::uint32_t area = 0; area < kAreas; ++area) {
    arena.BeginThread(area + 1, area);
    arena.head(area) = kRecords;
  }
  UniqueFd file = ArenaFile(arena);
  agent.Arena(file, arena.bytes());
  std::size_t most = 0, before = 0;
  ASSERT_TRUE(server_.Until([&] {
    std::size_t now = counters().log_malformed;  // the records are zeroes: none has a known kind
    most = std::max(most, now - before);
    before = now;
    return now >= std::size_t{kAreas} * (kRecords - 2);
  }));
  EXPECT_LT(most, 2'000'000u);
}

TEST_F(ServerTest, NothingSettlesBeforeEverythingQueuedHasCome) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  FakeArena arena(1, 16);
  arena.header().messages_queued = 1;
  UniqueFd file = ArenaFile(arena);
  agent.Arena(file, arena.bytes());
  ASSERT_TRUE(server_.Until([&] { return sink().arenas.size() == 1; }));
  server_.Poll(10);
  EXPECT_TRUE(sink().settled.empty());
  agent.Send(Plan(1));
  std::uint64_t one = 1;
  ASSERT_EQ(::pwrite(file.get(), &one, 8, offsetof(tailor_arena_header, messages_settled)), 8);
  ASSERT_TRUE(server_.Until([&] { return !sink().settled.empty(); }));
  EXPECT_EQ(sink().messages.size(), 1u);
}

TEST_F(ServerTest, TimesFromTheFutureAreSetToTheArrival) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  Body plan = Plan(1);
  plan.set_tsc(~std::uint64_t{0});
  agent.Send(plan);
  ASSERT_TRUE(server_.Until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.tsc(), sink().messages[0].received_tsc);
  EXPECT_EQ(counters().future_times, 1u);
}

TEST_F(ServerTest, LogRecordsFromTheFutureAreSetToTheArrival) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  FakeArena arena(1, 16);
  arena.BeginThread(static_cast<std::uint32_t>(::gettid()));
  arena.Append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = ArenaFile(arena);
  const std::uint64_t future = ~std::uint64_t{0} / 2;
  ASSERT_EQ(::pwrite(file.get(), &future, 8,
                     sizeof(tailor_arena_header) + TAILOR_AREA_LOG_OFFSET + TAILOR_LOG_RECORD_SIZE),
            8);
  agent.Arena(file, arena.bytes());
  ASSERT_TRUE(server_.Until([&] { return !sink().activity.empty(); }));
  EXPECT_LE(sink().activity[0].records.at(0).tsc, __rdtsc());
  EXPECT_EQ(counters().future_times, 1u);
}

// Whoever is turned away hears why.
TEST_F(ServerTest, AnAgentOfAnotherProtocolIsToldSo) {
  RawAgent agent(server_.path());
  Body hello;
  hello.mutable_hello()->set_protocol(7);
  hello.mutable_hello()->set_session(std::string(16, 's'));
  agent.Send(hello);
  ASSERT_TRUE(server_.Until([&] { return sink().refused.size() == 1; }));
  EXPECT_THAT(agent.Receive().refusal().reason(), HasSubstr("speaks protocol 7"));
  EXPECT_THAT(sink().refused[0].reason, HasSubstr("speaks protocol 7"));
  EXPECT_EQ(sink().refused[0].pid, ::getpid());
  EXPECT_EQ(counters().refusals.at("protocol"), 1u);
}

TEST_F(ServerTest, MoreProcessesThanAUserMayHaveAreToldSo) {
  server_.Stop();
  server_.options.user_processes = 2;
  server_.Start();
  RawAgent one(server_.path()), two(server_.path()), three(server_.path());
  ASSERT_TRUE(server_.Until([&] { return sink().refused.size() == 1; }));
  EXPECT_THAT(three.Receive().refusal().reason(), HasSubstr("user-processes"));
  EXPECT_EQ(counters().refusals.at("user-processes"), 1u);
  EXPECT_EQ(server_->connection_count(), 2u);
}

// Too many messages wait in their sockets, and their agent is told; none is lost.
TEST_F(ServerTest, TooManyMessagesAreReadLater) {
  server_.Stop();
  server_.options.user_messages_a_second = 50;
  server_.Start();
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  (void)agent.Receive();
  for (std::uint64_t id = 1; id <= 120; ++id) agent.Send(Plan(id));
  ASSERT_TRUE(server_.Until([&] { return counters().paused > 0; }));
  EXPECT_LT(sink().messages.size(), 120u);
  EXPECT_EQ(agent.Receive().limit_reached().limit(), "user-messages-per-second");
  ASSERT_TRUE(server_.Until([&] { return sink().messages.size() == 120; }));
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
    agent.Hello();
    (void)agent.Receive();
    const UniqueFd large = Memfd(std::string(kBytesAPoll, '\xFF'), kPayloadSeals);
    Body envelope;
    envelope.set_payload_bytes(kBytesAPoll);
    for (int i = 0; i < kSent; ++i) agent.Send(envelope, {large.get()});
    [[maybe_unused]] auto told = ::write(go[1], "x", 1);
    ::pause();
  }
  RawAgent agent(server_.path());
  ASSERT_TRUE(server_.Until([&] { return sink().connected.size() == 1; }));
  agent.Hello();
  ASSERT_TRUE(server_.Until([&] { return sink().connected.size() == 2; }));
  char c;
  ASSERT_EQ(::read(go[0], &c, 1), 1);
  agent.Send(Plan(1));
  server_.Poll(2);
  EXPECT_EQ(sink().messages.size(), 1u);
  EXPECT_LE(sink().rejected.size(), 2u);
  // The end of the process does not make anybody read on without a pause either.
  ::kill(hostile, SIGKILL);
  ::waitpid(hostile, nullptr, 0);
  std::size_t before = sink().rejected.size(), most = 0;
  ASSERT_TRUE(server_.Until([&] {
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
  ASSERT_TRUE(Open(agent));
  UniqueFd holes(::memfd_create("holes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(holes.get(), kMaxMessageBytes), 0);
  ::fcntl(holes.get(), F_ADD_SEALS, kPayloadSeals);
  Body envelope;
  envelope.set_payload_bytes(kMaxMessageBytes);
  agent.Send(envelope, {holes.get()});
  ASSERT_TRUE(server_.Until([&] { return sink().rejected.size() == 1; }));
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("holes"));
}

TEST_F(ServerTest, MoreLogsThanAProcessMayHaveAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  (void)agent.Receive();
  FakeArena arena(4096, 16);
  UniqueFd file = ArenaFile(arena);
  for (std::uint32_t index = 0; index < 5; ++index) agent.Arena(file, arena.bytes(), index);
  ExpectGone(GoneReason::kRefused, "areas for logs");
  EXPECT_THAT(agent.Receive().refusal().reason(), HasSubstr("areas for logs"));
}

std::uint64_t blocks_of(const UniqueFd& file) {
  struct stat info{};
  return ::fstat(file.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) : 0;
}

// Reading a hole would fill it, and on the daemon's account.
TEST_F(ServerTest, LogsThatWereNeverWrittenTakeNoMemory) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
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
  layout.BeginThread(static_cast<std::uint32_t>(::gettid()), 500);
  layout.Append(TAILOR_LOG_PIPELINE_BEGIN, 4, 0, 500);
  ASSERT_GT(::pwrite(file.get(), &layout.slot(500), 1024, area(500)), 0);
  const std::uint64_t lie = 1'000'000;
  ASSERT_EQ(::pwrite(file.get(), &lie, 8, area(700) + static_cast<off_t>(sizeof(tailor_slot))), 8);
  const std::uint64_t before = blocks_of(file);
  agent.Arena(file, layout.bytes());
  ASSERT_TRUE(server_.Until([&] { return sink().activity.size() == 1 && sink().settled.size() > 3; }));
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_GT(counters().log_malformed, 0u);
  EXPECT_EQ(sink().Lost(), 0u);
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
      agent.Hello();
      ::pause();
    }
    engines.push_back(engine);
    if (i % 50 == 0) server_.Poll(1);
  }
  EXPECT_TRUE(server_.Until([&] { return sink().connected.size() == kProcesses; }, 120));
  EXPECT_EQ(server_->connection_count(), kProcesses);
  for (const pid_t engine : engines) ::kill(engine, SIGKILL);
  for (const pid_t engine : engines) ::waitpid(engine, nullptr, 0);
  EXPECT_TRUE(server_.Until([&] { return sink().gone.size() == kProcesses; }, 120));
}

TEST_F(ServerTest, GarbageBeforeHelloEndsTheConnection) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), std::string(60'000, '\xFF'),
                                   Plan(1).SerializeAsString(), std::string(1, '\0')}) {
    RawAgent agent(server_.path());
    agent.SendBytes(bytes);
    std::uint64_t before = counters().protocol_errors;
    ASSERT_TRUE(server_.Until([&] { return counters().protocol_errors == before + 1; }));
    EXPECT_EQ(server_->connection_count(), 0u);
  }
  EXPECT_TRUE(sink().connected.empty());
  EXPECT_TRUE(sink().gone.empty());
}

TEST_F(ServerTest, GarbageAfterHelloIsCountedAndEndsItInTheLongRun) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  for (std::size_t i = 0; i <= kMaxRejections; ++i) {
    agent.SendBytes("\xFF\xFFrubbish");
    server_.Poll(1);
  }
  ExpectGone(GoneReason::kProtocol, "too many");
  EXPECT_EQ(counters().rejected, kMaxRejections + 1);
}

TEST_F(ServerTest, OversizedPacketsAndSwarmsOfDescriptorsEndIt) {
  {
    RawAgent agent(server_.path());
    ASSERT_TRUE(Open(agent));
    agent.SendBytes(std::string(kMaxPacketBytes + 1, '\0'));
    ExpectGone(GoneReason::kProtocol, "more bytes or descriptors");
  }
  sink() = RecordingSink();
  sink().server = &*server_;
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  UniqueFd file = Memfd("x", 0);
  agent.Send(Plan(1), std::vector<int>(50, file.get()));
  ExpectGone(GoneReason::kProtocol, "more bytes or descriptors");
  EXPECT_TRUE(sink().messages.empty());
}

TEST_F(ServerTest, ASecondHelloEndsIt) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  agent.Hello();
  ExpectGone(GoneReason::kProtocol, "second hello");
}

TEST_F(ServerTest, OneAgentAProcess) {
  RawAgent first(server_.path());
  ASSERT_TRUE(Open(first));
  RawAgent second(server_.path());
  second.Hello(std::string(16, 't'));
  ASSERT_TRUE(server_.Until([&] { return counters().refused == 1; }));
  EXPECT_THAT(second.Receive().refusal().reason(), HasSubstr("registered already"));
  EXPECT_EQ(server_->connection_count(), 1u);
  // One that comes back is welcome, even before its end was noticed.
  first.Close();
  RawAgent third(server_.path());
  third.Hello();
  ASSERT_TRUE(server_.Until([&] { return sink().connected.size() == 2; }));
  EXPECT_EQ(sink().order, "CGC");
}

TEST_F(ServerTest, AReconnectedAgentsLogGoesOnWhereItWas) {
  FakeArena arena(1, 16);
  arena.BeginThread(5);
  arena.Append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = ArenaFile(arena);
  for (int round = 0; round < 2; ++round) {
    RawAgent agent(server_.path());
    agent.Hello();
    agent.Arena(file, arena.bytes());
    ASSERT_TRUE(server_.Until([&] { return sink().arenas.size() == static_cast<std::size_t>(round) + 1; }));
    server_.Poll();
    agent.Close();
    ASSERT_TRUE(server_.Until([&] { return sink().gone.size() == static_cast<std::size_t>(round) + 1; }));
  }
  EXPECT_EQ(sink().Records(TAILOR_LOG_PIPELINE_BEGIN), 1u);
}

TEST_F(ServerTest, AForkedChildCannotSpeakForItsParent) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  pid_t child = ::fork();
  if (child == 0) {
    agent.Send(Plan(66));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  agent.Send(Plan(1));
  ASSERT_TRUE(server_.Until([&] { return sink().messages.size() == 1; }));
  EXPECT_EQ(sink().messages[0].message.plan_load().id(), 1u);
  EXPECT_EQ(counters().foreign_packets, 1u);
}

TEST_F(ServerTest, TheEndOfAProcessIsSeenThoughItsChildHoldsTheSocket) {
  int block[2];
  ASSERT_EQ(::pipe(block), 0);
  pid_t engine = ::fork();
  if (engine == 0) {
    RawAgent agent(server_.path());
    agent.Hello();
    agent.Receive();
    if (::fork() == 0) {
      char c;
      ::close(block[1]);
      [[maybe_unused]] auto n = ::read(block[0], &c, 1);  // lives on, with the socket, until the test is over
    }
    ::_exit(0);
  }
  ExpectGone(GoneReason::kProcessExit);
  ::close(block[0]);
  ::close(block[1]);
  ::waitpid(engine, nullptr, 0);
}

TEST_F(ServerTest, APeerThatDoesNotReadItsAnswersIsClosed) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(Open(agent));
  Body barrier;
  barrier.mutable_barrier()->set_sequence(1);
  for (int i = 0; i < 100'000 && sink().gone.empty(); ++i) {
    if (!agent.Send(barrier)) break;
    if (i % 20 == 0) server_.Poll(1);
  }
  ExpectGone(GoneReason::kProtocol, "answers");
}

TEST_F(ServerTest, ASocketInUseIsAnErrorAStaleOneIsReplaced) {
  RecordingSink other;
  ServerOptions options;
  options.socket_path = server_.path();
  auto second = Server::Listen(options, other);
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
  auto third = Server::Listen(options, other);
  EXPECT_TRUE(third.ok()) << third.error().message;
  options.socket_path = "/nonexistent/agent.sock";
  EXPECT_FALSE(Server::Listen(options, other).ok());
  options.socket_path = std::string(200, 'x');
  EXPECT_FALSE(Server::Listen(options, other).ok());
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
    agent.Hello(std::string(15, 's') + static_cast<char>(i));
    agent.Arena(ArenaFile(arena), arena.bytes());
    server_.Poll(1);
    agent.Close();
    server_.Poll(1);
  }
  ASSERT_TRUE(server_.Until([&] { return sink().gone.size() == 200; }));
  sink().arenas.clear();
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace tailor::registration::testing
