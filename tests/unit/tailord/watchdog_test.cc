// What the service manager hears of the watchdog.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "daemon/tailord/notify.h"
#include "proto/base/unique_fd.h"

namespace tailor::tailord {
namespace {

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path_.c_str());
    manager_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(manager_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "60000000", 1);
    ::unsetenv("WATCHDOG_PID");
  }
  void TearDown() override {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::unlink(path_.c_str());
  }
  std::string heard() {
    std::array<char, 64> text{};
    const ssize_t bytes = ::recv(manager_.get(), text.data(), text.size(), 0);
    return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : "";
  }

  const std::string path_ = testing::TempDir() + "/watchdog." + std::to_string(::getpid());
  UniqueFd manager_;
};

TEST_F(WatchdogTest, PingsTwiceAsOftenAsItMust) {
  Watchdog watchdog;
  EXPECT_TRUE(watchdog.due());
  watchdog.look(true);
  EXPECT_EQ(heard(), "WATCHDOG=1");
  EXPECT_GT(watchdog.timeout_ms(), 20'000);
  EXPECT_LE(watchdog.timeout_ms(), 30'000);
}

// A ping at 0 s, held up at 30 s: who goes on at 31 s is to ping before 60 s.
TEST_F(WatchdogTest, WhoIsHeldUpIsNotPingedForAndLookedAtSoon) {
  Watchdog watchdog;
  watchdog.look(false);
  EXPECT_EQ(heard(), "");
  EXPECT_GT(watchdog.timeout_ms(), 0);
  EXPECT_LE(watchdog.timeout_ms(), 3'000);
}

}  // namespace
}  // namespace tailor::tailord
