// Connections of the agent socket: who speaks, what arrives, how they end.
#include "daemon/registration/server.h"

#include <sys/wait.h>

#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

class ServerTest : public ServerFixture {};

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

// A measurement of its work must not count the wait.
TEST_F(ServerTest, TellsThatItsWaitIsOverBeforeItWorks) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  const int before = sink().awake;
  const std::string order = sink().order;
  agent.send(plan(1));
  server_->poll(0);
  EXPECT_EQ(sink().awake, before + 1);
  EXPECT_EQ(sink().before_awake, order);
  EXPECT_EQ(sink().order, order + "m");
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

// Code may have been there before it was told of: the samples in between are its own. Not after, though, and
// where the agent says nothing, the message's time counts.
TEST_F(ServerTest, CodeCountsFromTheTimeThatItsAgentSays) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  constexpr std::uint64_t kSaid = 5000;
  std::size_t heard = 0;
  for (const auto& [since, counts] : {std::pair<std::uint64_t, std::uint64_t>{1234, 1234},
                                      {kSaid, kSaid},
                                      {kSaid + 1, kSaid},
                                      {~std::uint64_t{0}, kSaid},
                                      {0, kSaid}}) {
    Body load;
    load.set_tsc(kSaid);
    v1::CodeObject& code = *load.mutable_code_load();
    code.set_id(3);
    code.set_base(0x7f0000001000);
    code.set_size(100);
    code.set_load_tsc(since);
    agent.send(load);
    ++heard;
    ASSERT_TRUE(server_.until([&] { return sink().messages.size() == heard; })) << since;
    EXPECT_EQ(sink().messages.back().message.code_load().load_tsc(), counts) << since;
  }
}

// A peer that is turned away hears why.
TEST_F(ServerTest, AnAgentOfAnotherProtocolIsToldSo) {
  RawAgent agent(server_.path());
  Body hello;
  hello.mutable_hello()->set_protocol(7);
  hello.mutable_hello()->set_instance(std::string(16, 's'));
  agent.send(hello);
  ASSERT_TRUE(server_.until([&] { return sink().refused.size() == 1; }));
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("speaks protocol 7"));
  EXPECT_THAT(sink().refused[0].reason, HasSubstr("speaks protocol 7"));
  EXPECT_EQ(sink().refused[0].pid, ::getpid());
  EXPECT_EQ(counters().refusals.at("protocol"), 1u);
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

}  // namespace
}  // namespace tailor::registration::testing
