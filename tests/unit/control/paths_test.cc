#include "proto/control/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tailor::control {
namespace {

TEST(Paths, TheEnvironmentComesFirst) {
  ::setenv("TAILOR_CONTROL", "/somewhere/control", 1);
  ::setenv("TAILOR_STORE", "/somewhere/store", 1);
  ::setenv("TAILOR_SOCKET", "/somewhere/agent", 1);
  EXPECT_EQ(control_socket_path(), "/somewhere/control");
  EXPECT_EQ(store_path(), "/somewhere/store");
  EXPECT_EQ(agent_socket_path(), "/somewhere/agent");
  ::unsetenv("TAILOR_CONTROL");
  ::unsetenv("TAILOR_STORE");
  ::unsetenv("TAILOR_SOCKET");
  EXPECT_NE(control_socket_path().find("control.sock"), std::string::npos);
  EXPECT_NE(store_path().find("tailor/store"), std::string::npos);
}

}  // namespace
}  // namespace tailor::control
