// The process at the other end is looked at again before it is sampled.
#include <unistd.h>

#include <filesystem>

#include "tests/unit/registration/fake_proc.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

class ServerPeerTest : public ServerFixture {
 protected:
  ServerPeerTest() {
    proc_.be(5, ::geteuid());
    server_.stop();
    server_.options.proc = proc_.root();
    server_.start();
  }
  // Connects, and is accepted.
  bool accepted(RawAgent& agent) {
    return agent.connected() && server_.until([&] { return server_->connection_count() == 1; });
  }

  FakeProc proc_;
};

TEST_F(ServerPeerTest, TheSameProcessRegisters) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(accepted(agent));
  EXPECT_TRUE(open(agent));
  EXPECT_EQ(sink().connected[0].process.start, 5u);
}

TEST_F(ServerPeerTest, AnotherProcessWithItsNumberDoesNot) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(accepted(agent));
  proc_.be(6, ::geteuid());
  agent.hello();
  ASSERT_TRUE(server_.until([&] { return !sink().refused.empty() || !sink().connected.empty(); }));
  EXPECT_TRUE(sink().connected.empty());
  ASSERT_EQ(sink().refused.size(), 1u);
  EXPECT_THAT(sink().refused[0].reason, HasSubstr("another one has its number now"));
  EXPECT_EQ(counters().refusals.at("another process"), 1u);
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("another one has its number now"));
}

// What it said before it ended counts.
TEST_F(ServerPeerTest, OneThatHasEndedMeanwhileRegisters) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(accepted(agent));
  proc_.forget();
  EXPECT_TRUE(open(agent));
}

// A stranger connects, and executes a program of root's before it is accepted.
TEST_F(ServerPeerTest, AProgramOfAnotherUserIsTurnedAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::filesystem::permissions(std::filesystem::path(server_.path()).parent_path(),
                               std::filesystem::perms(0755));
  std::filesystem::permissions(server_.path(), std::filesystem::perms(0666));
  constexpr uid_t kStranger = 65534;
  ASSERT_EQ(::seteuid(kStranger), 0);
  RawAgent agent(server_.path());
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(agent.connected());
  ASSERT_TRUE(server_.until([&] { return !sink().refused.empty() || server_->connection_count() > 0; }));
  EXPECT_EQ(server_->connection_count(), 0u);
  EXPECT_EQ(counters().refusals.at("another user"), 1u);
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("but user 65534 connected"));
}

}  // namespace
}  // namespace tailor::registration::testing
