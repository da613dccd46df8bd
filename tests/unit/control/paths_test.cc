#include "proto/control/paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(Paths, ClientsLookAtTheUsersOwnPlaceAndThenAtTheSystems) {
  ::unsetenv("TAILOR_CONTROL");
  ::unsetenv("TAILOR_STORE");
  const auto sockets = control_socket_places();
  const auto stores = store_places();
  ASSERT_FALSE(sockets.empty());
  EXPECT_EQ(sockets.front(), control_socket_path());
  EXPECT_EQ(sockets.back(), "/run/tailor/control.sock");
  EXPECT_EQ(sockets.size(), ::geteuid() == 0 ? 1u : 2u) << "root's own is the system's";
  EXPECT_EQ(stores.front(), store_path());
  EXPECT_EQ(stores.back(), "/var/lib/tailor/store");
  ::setenv("TAILOR_CONTROL", "/somewhere/control", 1);
  EXPECT_EQ(control_socket_places(), std::vector<std::string>{"/somewhere/control"}) << "and nothing else";
  ::unsetenv("TAILOR_CONTROL");
}

}  // namespace
}  // namespace tailor::control
