#include "daemon/session/agent_literals.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

constexpr ProcessId kProcess{10, 1};

std::string name_after(AgentLiterals& literals) {
  registration::PeerMessage event;
  event.process = kProcess;
  event.message.mutable_plan_load()->set_name("select 'secret'");
  literals.message(event);
  return event.message.plan_load().name();
}

TEST(AgentLiterals, AreTakenOutWhereTheyAreNotKept) {
  AgentLiterals literals(true);
  registration::PeerConnected event;
  event.process = kProcess;
  literals.connected(event);
  EXPECT_EQ(name_after(literals), "select 'secret'");
  literals.set_keep(false);
  EXPECT_EQ(name_after(literals).find("secret"), std::string::npos);
  literals.set_keep(true);
  EXPECT_EQ(name_after(literals), "select 'secret'");
}

}  // namespace
}  // namespace tailor::session
