// A server that has no descriptor left: newcomers wait, and those that are there do not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "tests/support/lingering_socket.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

// While it is there, this process gets no further descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    // All numbers below are taken.
    none.rlim_cur = static_cast<rlim_t>(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class NoDescriptorsTest : public ServerFixture {
 protected:
  std::uint64_t turned_away() {
    const auto found = counters().refusals.find("no file descriptors left");
    return found == counters().refusals.end() ? 0 : found->second;
  }
};

// Twin: where poll() closes who is turned away, this takes a minute, and both newcomers are turned away.
TEST_F(NoDescriptorsTest, OneWhoIsTurnedAwayDelaysNobodyHoweverSlowToClose) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  RawAgent ours(server_.path());
  ASSERT_TRUE(open(ours));
  RawAgent hostile(server_.path());
  ASSERT_TRUE(send_attached(hostile.fd(), slow.ours.get()));
  slow.ours.reset();  // now only the packet holds it
  RawAgent waits(server_.path());
  ASSERT_TRUE(waits.connected());
  {
    const NoDescriptors none;
    ASSERT_TRUE(server_.until([&] { return turned_away() > 0; }));
    ours.send(plan(1));
    EXPECT_TRUE(server_.until([&] { return sink().messages.size() == 1; }));
    server_.poll();
    // The newcomer that waits wakes nobody.
    const auto before = std::chrono::steady_clock::now();
    server_->poll(200);
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(200));
    EXPECT_EQ(turned_away(), 1u);
    EXPECT_EQ(server_->connection_count(), 1u);
  }
  EXPECT_TRUE(server_.until([&] { return server_->connection_count() == 2; }));
  EXPECT_EQ(turned_away(), 1u);
  slow.theirs.reset();
}

}  // namespace
}  // namespace tailor::registration::testing
