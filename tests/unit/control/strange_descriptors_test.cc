// Clients that send descriptors which are slow to close make nobody else wait: the kernel refuses such
// packets, and where it cannot, threads of their users bear with them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/control/control_server.h"
#include "daemon/os/passed_descriptors.h"
#include "proto/control/control_socket.h"
#include "tests/support/lingering_socket.h"

namespace tailor::control {
namespace {

constexpr uid_t kHostileUser = 65534;

// All turns of the server are the test's own: what waits in one of them, the test waits for.
class StrangeDescriptorsTest : public testing::Test {
 protected:
  StrangeDescriptorsTest() {
    std::string name = testing::TempDir() + "tailor-strange-XXXXXX";
    directory = ::mkdtemp(name.data());
    path = directory + "/control.sock";
    status.mutable_status();
    report.mutable_report();
  }
  ~StrangeDescriptorsTest() override {
    server.reset();
    std::filesystem::remove_all(directory);
  }

  // A report is promised, and everything else is answered at once.
  void start(std::size_t max_clients = ControlServer::kMaxClients, ClientThreads::Close close = {},
             ControlServer::Passed passed = ControlServer::Passed::kTaken) {
    auto listening = ControlServer::listen(
        path,
        [this](const v1::ControlRequest& request, const Peer& /*peer*/,
               const ControlServer::Promise& promise) -> std::optional<v1::ControlReply> {
          ++handled;
          if (request.has_report() && promise(std::chrono::hours(1)).ok()) return std::nullopt;
          v1::ControlReply reply;
          reply.mutable_status()->set_pid(42);
          return reply;
        },
        [this](const std::string& why) { cut_off.push_back(why); }, max_clients, std::move(close), passed);
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    server = std::move(*listening);
  }

  // Enough to accept, to read and to answer what is there.
  void some_turns() {
    for (int i = 0; i < 5; ++i) (void)server->poll(-1, 0);
  }
  void turn_until(const std::function<bool()>& done) {
    while (!done()) (void)server->poll(-1, 10);
  }

  UniqueFd connected() const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    auto address = socket_address(path);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
    return socket;
  }

  static void send_with(const UniqueFd& socket, const v1::ControlRequest& request, int attached) {
    ASSERT_TRUE(is_sent_with(socket, request, attached));
  }
  static bool is_sent_with(const UniqueFd& socket, const v1::ControlRequest& request, int attached) {
    std::string bytes = request.SerializeAsString();
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &attached, sizeof attached);
    return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  static std::int32_t pid_at(const UniqueFd& socket) {
    v1::ControlReply reply;
    auto got = receive_reply(socket.get(), reply, 60'000);
    EXPECT_TRUE(got.ok() && *got);
    return reply.status().pid();
  }

  std::string directory, path;
  v1::ControlRequest status, report;
  int handled = 0;
  std::vector<std::string> cut_off;
  std::unique_ptr<ControlServer> server;
};

// As where a signal comes while a request is read: without a wake-up it would wait for the next event.
TEST_F(StrangeDescriptorsTest, ARequestThatIsReadBesideAnotherEventNeedsNoFurtherOne) {
  start();
  const UniqueFd client = connected();
  send_with(client, status, STDIN_FILENO);
  some_turns();  // it is accepted, and its request is read by and by
  const UniqueFd event(::eventfd(1, EFD_CLOEXEC));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(server->poll(event.get(), 0));
    std::this_thread::yield();
  }
  const auto begin = std::chrono::steady_clock::now();
  while (handled == 0) (void)server->poll(-1, 120'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// So no slow descriptor lies in a connection, and nothing waits for one. Twin: the tests below, whose server
// takes what is sent.
TEST_F(StrangeDescriptorsTest, TheKernelRefusesThemWhereItCan) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!os::refuse_passed_descriptors(probe.get())) GTEST_SKIP() << "needs Linux 6.16";
  start(ControlServer::kMaxClients, {}, ControlServer::Passed::kRefused);
  const UniqueFd client = connected();
  const auto is_refused = [&] {
    errno = 0;
    return !is_sent_with(client, status, STDIN_FILENO) && errno == EPERM;
  };
  EXPECT_TRUE(is_refused()) << "before the connection is accepted";
  some_turns();
  EXPECT_TRUE(is_refused()) << "and afterwards";
  ASSERT_TRUE(send_message(client.get(), status).ok());
  turn_until([this] { return handled == 1; });
  EXPECT_EQ(pid_at(client), 42) << "requests are answered";
}

// Twin: if the thread that polls reads the request, it has closed the descriptor a minute later, and has
// handled the request.
TEST_F(StrangeDescriptorsTest, ARequestWithASlowOneIsReadElsewhere) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  start();
  const UniqueFd hostile = connected();
  send_with(hostile, status, slow.ours.get());
  slow.ours.reset();  // now only the packet holds it
  some_turns();
  EXPECT_EQ(handled, 0);
  slow.theirs.reset();
  turn_until([this] { return handled == 1; });
  EXPECT_EQ(pid_at(hostile), 42);
}

TEST_F(StrangeDescriptorsTest, OtherUsersAreAnsweredMeanwhile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  start();
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  UniqueFd hostile;
  std::thread([&] {
    // Of this thread alone: the call of the C library is of all threads.
    ASSERT_EQ(::syscall(SYS_setresuid, -1, kHostileUser, -1), 0);
    hostile = connected();
    send_with(hostile, status, slow.ours.get());
  }).join();
  slow.ours.reset();
  some_turns();
  EXPECT_EQ(handled, 0);
  const UniqueFd ours = connected();
  ASSERT_TRUE(send_message(ours.get(), status).ok());
  turn_until([this] { return handled == 1; });
  EXPECT_EQ(pid_at(ours), 42);
  slow.theirs.reset();
  turn_until([this] { return handled == 2; });
  EXPECT_EQ(pid_at(hostile), 42);
}

// Twin: if the thread that polls closes the connection, it is closed when the turns are over.
TEST_F(StrangeDescriptorsTest, AConnectionInWhichASlowOneLiesIsClosedElsewhere) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  const auto closed = std::make_shared<std::atomic<int>>(0);
  start(ControlServer::kMaxClients, [closed](int fd) {
    ::close(fd);
    ++*closed;
  });
  UniqueFd hostile = connected();
  ASSERT_TRUE(send_message(hostile.get(), report).ok());
  turn_until([this] { return handled == 1; });
  // Its answer is promised, so nothing more of it is read.
  send_with(hostile, report, slow.ours.get());
  slow.ours.reset();
  hostile.reset();
  some_turns();
  EXPECT_EQ(closed->load(), 0);
  slow.theirs.reset();
  while (closed->load() == 0) std::this_thread::yield();
}

// Twin: a server that closes its socket itself ends a minute later, and nothing is left of the connection
// then.
TEST_F(StrangeDescriptorsTest, AServerEndsBeforeOneThatNobodyHasAccepted) {
  LingeringSocket slow;
  ASSERT_TRUE(slow.ours && slow.theirs);
  std::promise<void> opened;
  start(ControlServer::kMaxClients, [gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  const UniqueFd hostile = connected();
  send_with(hostile, status, slow.ours.get());
  slow.ours.reset();
  server.reset();
  pollfd over{hostile.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&over, 1, 0), 0) << "it is closed later";
  slow.theirs.reset();
  opened.set_value();
  EXPECT_EQ(::poll(&over, 1, -1), 1);
}

// Each connection that waits to be closed takes a descriptor of the daemon.
TEST_F(StrangeDescriptorsTest, WhereTooManyWaitToBeClosedNobodyIsAcceptedUntilFewerDo) {
  std::promise<void> opened;
  start(1, [gate = opened.get_future().share()](int fd) {
    gate.wait();
    ::close(fd);
  });
  const auto is_told = [this] {
    return std::ranges::any_of(
        cut_off, [](const std::string& why) { return why.find("nobody can connect") != std::string::npos; });
  };
  std::size_t newcomers = 0;
  for (; !is_told(); ++newcomers) {
    const UniqueFd socket = connected();  // each pushes out the one before
    (void)server->poll(-1, 0);
  }
  EXPECT_GE(newcomers, ClientThreads::kMostClosing);
  const UniqueFd waits = connected();
  ASSERT_TRUE(send_message(waits.get(), status).ok());
  some_turns();
  EXPECT_EQ(handled, 0);
  opened.set_value();
  turn_until([this] { return handled == 1; });
  EXPECT_EQ(pid_at(waits), 42);
}

}  // namespace
}  // namespace tailor::control
