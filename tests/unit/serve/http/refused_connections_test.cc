// Connections for which there is no place hold up nobody else, however slow they are to close.
#include "daemon/serve/http/refused_connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "daemon/serve/http/http_server.h"
#include "tests/support/lingering_socket.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

// The server has one place, which `held` takes: all others are refused, root's too.
class RefusedConnectionsTest : public testing::Test {
 protected:
  void start(RefusedConnections::Close close = {}) {
    std::ofstream(file_) << test::profile_bytes(
        [](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
    library_ = open_file_library(file_);
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}});
    HttpOptions options;
    options.takes_descriptors = true;
    options.connections = 1;
    options.close_refused = std::move(close);
    options.listeners.push_back({path_, "", 0, false});
    options.listeners.push_back({"", "127.0.0.1", 0, false});
    auto server = HttpServer::start(*service_, std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    held_ = connected();
    while (connections() == 0) std::this_thread::yield();
  }
  ~RefusedConnectionsTest() override {
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
  UniqueFd connected_over_tcp() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(server_->port());
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  // Of this process's user.
  std::size_t connections() const {
    auto uses = server_->uses();
    return uses[asker_of_user(::geteuid()).who].connections;
  }
  // The begin of what the server says.
  static std::string answer(const UniqueFd& socket) {
    char got[12] = {};
    EXPECT_EQ(::recv(socket.get(), got, sizeof got, MSG_WAITALL), static_cast<ssize_t>(sizeof got));
    return {got, sizeof got};
  }
  static bool has_answer(const UniqueFd& socket) {
    pollfd each{socket.get(), POLLIN, 0};
    return ::poll(&each, 1, 0) > 0;
  }
  // As many wait to be closed.
  void fill(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(answer(connected()), kRefused) << i;
  }
  mode_t mode() const {
    struct stat info{};
    EXPECT_EQ(::lstat(path_.c_str(), &info), 0);
    return info.st_mode & 0777;
  }
  // What connect() gives another user, who is in the group of the socket: 0 or an errno.
  int strangers_error() const {
    const pid_t child = ::fork();
    if (child == 0) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, path_.data(), path_.size());
      const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (::setuid(kStranger) != 0) ::_exit(255);
      ::_exit(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                                  : errno);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }

  static constexpr const char* kRefused = "HTTP/1.1 429";
  static constexpr std::size_t kMost = RefusedConnections::kMost;
  static constexpr std::size_t kAll = kMost + RefusedConnections::kReserve;
  static constexpr uid_t kStranger = 65534;
  const std::string path_ =
      testing::TempDir() + "/refused_connections." + std::to_string(::getpid()) + ".sock";
  const std::string file_ = path_ + ".tailor";
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
  UniqueFd held_;
};

// Twin: where the thread that accepts closes it, the answer comes a minute later, and it is gone then.
TEST_F(RefusedConnectionsTest, AreClosedElsewhere) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  start();
  UniqueFd hostile;
  while (!hostile) {  // the server may be faster
    UniqueFd next = connected();
    if (send_attached(next.get(), slow.ours.get())) hostile = std::move(next);
  }
  slow.ours.reset();
  EXPECT_EQ(answer(hostile), kRefused);
  // When another one has its answer, the hostile one waits to be closed. So does this one, behind it.
  EXPECT_EQ(answer(connected()), kRefused);
  held_.reset();
  while (connections() > 2) std::this_thread::yield();
  const UniqueFd ours = connected();
  const std::string request = "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(::send(ours.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  EXPECT_EQ(answer(ours), "HTTP/1.1 200");
  EXPECT_EQ(connections(), 3u) << "with those that wait to be closed";
  slow.theirs.reset();
  while (connections() > 1) std::this_thread::yield();
}

// Each connection that waits to be closed takes a descriptor of the daemon.
TEST_F(RefusedConnectionsTest, WhereTooManyWaitOthersComeLaterAndThoseOverTcpAtOnce) {
  std::promise<void> opened;
  start([gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  fill(kAll);
  const UniqueFd waits = connected();
  EXPECT_EQ(answer(connected_over_tcp()), kRefused);
  EXPECT_FALSE(has_answer(waits));
  EXPECT_EQ(connections(), 1 + kAll);
  opened.set_value();
  EXPECT_EQ(answer(waits), kRefused);
}

// Many that are slow to close do not shut out root and the daemon's own user. Twin: one fewer, and everybody
// may connect.
TEST_F(RefusedConnectionsTest, WhereManyWaitTheDaemonsOwnUserStillComes) {
  std::promise<void> opened;
  start([gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  fill(kMost - 1);
  while (connections() < kMost) std::this_thread::yield();
  EXPECT_EQ(mode(), 0660u);
  fill(1);
  while (mode() != 0600) std::this_thread::yield();
  EXPECT_EQ(answer(connected()), kRefused) << "all places are taken, and it is told so";
  opened.set_value();
  while (mode() != 0660) std::this_thread::yield();
}

TEST_F(RefusedConnectionsTest, WhereManyWaitStrangersMayNotConnect) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  std::promise<void> opened;
  start([gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  if (strangers_error() != 0) GTEST_SKIP() << "another user cannot reach the folder of the socket";
  fill(kMost);
  while (mode() != 0600) std::this_thread::yield();
  EXPECT_EQ(strangers_error(), EACCES);
  opened.set_value();
  while (mode() != 0660) std::this_thread::yield();
  EXPECT_EQ(strangers_error(), 0);
}

// Twin: a server that closes its socket itself ends a minute later, and nothing is left of the connection
// then.
TEST_F(RefusedConnectionsTest, AServerEndsBeforeOneThatNobodyHasAccepted) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  std::promise<void> opened;
  start([gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  fill(kAll);
  const UniqueFd hostile = connected();
  ASSERT_TRUE(send_attached(hostile.get(), slow.ours.get()));
  slow.ours.reset();
  server_.reset();
  EXPECT_FALSE(has_answer(hostile)) << "it is closed later";
  slow.theirs.reset();
  opened.set_value();
  pollfd over{hostile.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&over, 1, -1), 1);
}

}  // namespace
}  // namespace tailor::serve
