// A server and what its tests say to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "daemon/registration/server.h"
#include "tests/unit/registration/fake_arena.h"
#include "tests/unit/registration/raw_agent.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {

using Body = v1::AgentMessage;

inline constexpr int kArenaSeals = F_SEAL_SHRINK | F_SEAL_GROW;
inline constexpr int kPayloadSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

inline Body plan(std::uint64_t id) {
  Body message;
  message.set_tsc(5);
  message.mutable_plan_load()->set_id(id);
  message.mutable_plan_load()->add_levels();
  return message;
}

inline UniqueFd arena_file(FakeArena& arena, int seals = kArenaSeals) {
  return memfd(std::string(reinterpret_cast<const char*>(arena.memory().get()), arena.bytes()), seals);
}

class ServerFixture : public ::testing::Test {
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
    EXPECT_THAT(sink().gone[0].detail, ::testing::HasSubstr(detail));
    EXPECT_EQ(server_->connection_count(), 0u);
  }

  TestServer server_;
};

}  // namespace tailor::registration::testing
