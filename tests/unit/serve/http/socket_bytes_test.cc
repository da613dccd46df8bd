#include "daemon/serve/http/socket_bytes.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "proto/base/unique_fd.h"

namespace tailor::serve {
namespace {

class SocketBytesTest : public testing::Test {
 protected:
  SocketBytesTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    own = UniqueFd(ends[0]);
    peer = UniqueFd(ends[1]);
  }
  static SocketBytes::Limits impatient() {
    SocketBytes::Limits limits;
    limits.write = std::chrono::milliseconds(20);
    limits.slowest_reader = 1 << 30;
    return limits;
  }
  UniqueFd own, peer;
  std::atomic<bool> stopping{false};
};

// A write takes what fits: who never reads holds nobody up for longer than an answer may wait.
TEST_F(SocketBytesTest, APeerThatNeverReadsIsGivenUp) {
  SocketBytes bytes(own.get(), stopping, impatient());
  bytes.begin_request();
  const std::string answer(64 << 20, 'x');
  std::size_t sent = 0;
  ssize_t got = 0;
  while ((got = bytes.write(answer.data() + sent, answer.size() - sent)) > 0)
    sent += static_cast<std::size_t>(got);
  EXPECT_EQ(got, -1);
  EXPECT_LT(sent, answer.size());
  EXPECT_FALSE(bytes.writable());
}

TEST_F(SocketBytesTest, APeerThatReadsGetsAllOfIt) {
  SocketBytes bytes(own.get(), stopping, impatient());
  bytes.begin_request();
  const std::string answer(8 << 20, 'x');
  std::string away(1 << 20, ' ');
  std::size_t sent = 0, read = 0;
  while (sent < answer.size()) {
    const ssize_t got = bytes.write(answer.data() + sent, answer.size() - sent);
    ASSERT_GT(got, 0) << sent;
    sent += static_cast<std::size_t>(got);
    while (read < sent) {
      const ssize_t here = ::recv(peer.get(), away.data(), away.size(), 0);
      ASSERT_GT(here, 0);
      read += static_cast<std::size_t>(here);
    }
  }
  EXPECT_EQ(read, answer.size());
}

}  // namespace
}  // namespace tailor::serve
