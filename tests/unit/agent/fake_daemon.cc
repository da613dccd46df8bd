#include "tests/unit/agent/fake_daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <vector>

namespace tailor::agent::testing {

namespace {

bool readable(int fd, int timeout_ms) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, timeout_ms) == 1;
}

// Puts the message of a sealed memfd in place of the packet that announced it.
void unpack(Received& received) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  EXPECT_EQ(::fcntl(received.attached.get(), F_GET_SEALS) & kNeeded, kNeeded);
  std::string bytes(received.message.payload_bytes(), '\0');
  EXPECT_EQ(::pread(received.attached.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(received.message.ParseFromString(bytes));
  received.in_memfd = true;
  received.attached.reset();
}

}  // namespace

FakeDaemon::FakeDaemon() {
  char name[] = "/tmp/tailor-agent-test-XXXXXX";
  directory_ = ::mkdtemp(name);
  path_ = directory_ + "/agent.sock";
  listen();
}

FakeDaemon::~FakeDaemon() {
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

void FakeDaemon::listen() {
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  int on = 1;
  ASSERT_EQ(::setsockopt(listener_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener_.get(), 8), 0);
}

void FakeDaemon::stop_listening() {
  listener_.reset();
  connection_.reset();
  ::unlink(path_.c_str());
}

v1::Hello FakeDaemon::accept(bool answer) {
  if (!readable(listener_.get(), 60'000)) {
    ADD_FAILURE() << "nobody connects";
    return {};
  }
  connection_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Received first = next();
  EXPECT_EQ(first.message.body_case(), v1::AgentMessage::kHello);
  if (answer) {
    v1::DaemonMessage ack;
    ack.mutable_hello_ack()->set_sampling(true);
    send(ack);
  }
  return first.message.hello();
}

Received FakeDaemon::next(int timeout_ms) {
  Received received;
  if (!connection_ || !readable(connection_.get(), timeout_ms)) return received;
  std::vector<char> packet(256 * 1024);
  iovec data{packet.data(), packet.size()};
  alignas(cmsghdr) char control[256];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t size = ::recvmsg(connection_.get(), &header, MSG_CMSG_CLOEXEC);
  if (size <= 0) return received;
  EXPECT_LE(size, 64 * 1024);
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item), sizeof(fd));
      received.attached.reset(fd);
    } else if (item->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(item), sizeof(credentials));
      received.credentials_pid = credentials.pid;
    }
  }
  EXPECT_TRUE(received.message.ParseFromArray(packet.data(), static_cast<int>(size)));
  if (received.message.payload_bytes() > 0) unpack(received);
  return received;
}

Received FakeDaemon::until(v1::AgentMessage::BodyCase body) {
  while (true) {
    Received received = next();
    auto got = received.message.body_case();
    if (got == body) return received;
    if (got == v1::AgentMessage::BODY_NOT_SET) {
      ADD_FAILURE() << "no message of kind " << body;
      return received;
    }
  }
}

void FakeDaemon::send(const v1::DaemonMessage& message) {
  std::string bytes = message.SerializeAsString();
  EXPECT_EQ(::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

void FakeDaemon::acknowledge_barrier(std::uint64_t sequence) {
  v1::DaemonMessage ack;
  ack.mutable_barrier_ack()->set_sequence(sequence);
  send(ack);
}

}  // namespace tailor::agent::testing
