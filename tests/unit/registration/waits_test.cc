// Who ends the server's waits: each wake-up costs far more than the message that it brings.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "daemon/registration/server.h"
#include "tests/unit/registration/raw_agent.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kShort{50}, kLong{20'000};

v1::AgentMessage plan(std::size_t name_bytes) {
  v1::AgentMessage message;
  message.set_tsc(5);
  message.mutable_plan_load()->set_id(1);
  message.mutable_plan_load()->set_name(std::string(name_bytes, 'n'));
  message.mutable_plan_load()->add_levels();
  return message;
}

class WaitsTest : public ::testing::Test {
 protected:
  bool open(RawAgent& agent) {
    return agent.connected() && agent.hello() &&
           server_.until([&] { return server_.sink.order.find('C') != std::string::npos; });
  }
  std::size_t messages() const { return server_.sink.messages.size(); }
  // How long a call took that may wait so long.
  std::chrono::nanoseconds poll(std::chrono::milliseconds wait) {
    const auto before = Clock::now();
    server_->poll(static_cast<int>(wait.count()));
    return Clock::now() - before;
  }

  TestServer server_;
};

TEST_F(WaitsTest, WhoGoesOnSpeakingEndsNone) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(plan(10));
  ASSERT_TRUE(server_.until([&] { return messages() == 1; }));
  for (std::size_t i = 2; i < 5; ++i) {
    agent.send(plan(10));
    EXPECT_GE(poll(kShort), kShort);
    EXPECT_EQ(messages(), i);
  }
}

TEST_F(WaitsTest, TheFirstWordAfterASilenceEndsThem) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(plan(10));
  ASSERT_TRUE(server_.until([&] { return messages() == 1; }));
  server_.poll(1);  // it has nothing to say
  agent.send(plan(10));
  EXPECT_LT(poll(kLong), kLong);
  EXPECT_EQ(messages(), 2u);
}

// More than its socket holds until the next call.
TEST_F(WaitsTest, WhoSaysMuchEndsThem) {
  constexpr std::size_t kMessages = 2000;
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  bool ended = false;
  // A peer that is silent for seconds, as on a busy machine, does not say much any more.
  for (int tries = 0; tries < 5 && !ended; ++tries) {
    const std::size_t before = messages();
    std::jthread engine([&] {
      for (std::size_t i = 0; i < kMessages; ++i) agent.send(plan(4000));
    });
    ASSERT_TRUE(server_.until([&] { return messages() == before + kMessages; }));
    engine.join();
    agent.send(plan(10));
    server_->poll(0);
    agent.send(plan(10));
    ended = poll(std::chrono::milliseconds(2000)) < std::chrono::milliseconds(2000);
    ASSERT_TRUE(server_.until([&] { return messages() == before + kMessages + 2; }));
  }
  EXPECT_TRUE(ended);
}

TEST_F(WaitsTest, OtherThreadsEndThem) {
  const std::jthread other([&] { server_->wake(); });
  EXPECT_LT(poll(kLong), kLong);
}

}  // namespace
}  // namespace tailor::registration::testing
