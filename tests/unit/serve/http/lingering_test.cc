// A local peer whose connection is slow to close holds up nobody else.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "daemon/os/passed_descriptors.h"
#include "daemon/serve/http/http_server.h"
#include "tests/support/lingering_socket.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

class LingeringTest : public testing::Test {
 protected:
  LingeringTest() {
    std::ofstream(file_) << test::profile_bytes(
        [](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
    library_ = open_file_library(file_);
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}});
    HttpOptions options;
    options.takes_descriptors = true;
    options.listeners.push_back({path_, "", 0, false});
    auto server = HttpServer::start(*service_, std::move(options));
    EXPECT_TRUE(server) << (server ? "" : server.error().message);
    if (server) server_ = std::move(*server);
  }
  ~LingeringTest() override {
    server_.reset();
    std::remove(file_.c_str());
  }

  UniqueFd connected() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  // Of this process's user.
  std::size_t connections() const {
    auto uses = server_->uses();
    return uses[asker_of_user(::geteuid()).who].connections;
  }

  const std::string file_ = testing::TempDir() + "/lingering_test.tailor";
  const std::string path_ = testing::TempDir() + "/lingering_test." + std::to_string(::getpid()) + ".sock";
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
};

// Twin: the server of the test below takes them.
TEST(RefusedDescriptorsTest, TheKernelRefusesThemWhereItCan) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!os::refuse_passed_descriptors(probe.get())) GTEST_SKIP() << "needs Linux 6.16";
  const std::string path =
      testing::TempDir() + "/refused_descriptors." + std::to_string(::getpid()) + ".sock";
  const std::string file = path + ".tailor";
  std::ofstream(file) << test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  const auto library = open_file_library(file);
  Service service(*library, ServiceOptions{"test", {}});
  HttpOptions options;
  options.listeners.push_back({path, "", 0, false});
  const auto server = HttpServer::start(service, std::move(options));
  ASSERT_TRUE(server);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(send_attached(socket.get(), STDIN_FILENO));
  EXPECT_EQ(errno, EPERM);
  const std::string request = "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  char answer[12] = {};
  ASSERT_EQ(::recv(socket.get(), answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
  EXPECT_EQ(std::string(answer, sizeof answer), "HTTP/1.1 200");
  std::remove(file.c_str());
}

// More than a server reads of a request and behind it, then a descriptor. Nothing where the server was
// faster.
UniqueFd with_unread_descriptor(UniqueFd socket, int attached) {
  const std::string much(160'000, 'x');
  const bool sent =
      ::send(socket.get(), much.data(), much.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(much.size()) &&
      send_attached(socket.get(), attached);
  return sent ? std::move(socket) : UniqueFd();
}

// Twin: where it is closed under the server's lock, uses() comes back a minute later, and it is gone then. So
// is a server that waits for it.
TEST_F(LingeringTest, AConnectionThatIsSlowToCloseHoldsNoLock) {
  LingeringSocket slow;
  ASSERT_TRUE(server_ && slow.ours && slow.theirs);
  UniqueFd hostile;
  while (!hostile) hostile = with_unread_descriptor(connected(), slow.ours.get());
  slow.ours.reset();
  // The server has ended the connection when nothing can be sent any more.
  while (::send(hostile.get(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EAGAIN)
    std::this_thread::yield();
  while (connections() > 1) std::this_thread::yield();  // some that it was faster with
  EXPECT_EQ(connections(), 1u);
  hostile.reset();
  EXPECT_EQ(connections(), 1u) << "it has a place until it is closed";
  server_.reset();  // waits for no such connection
  slow.theirs.reset();
}

}  // namespace
}  // namespace tailor::serve
