#include "agent/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "agent/encode.h"
#include "agent/sealed_memfd.h"

namespace tailor::agent {

namespace {

DaemonAnswer Decode(std::span<const char> packet) {
  protozero::pbf_reader message(packet.data(), packet.size());
  DaemonAnswer word;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        word.kind = DaemonAnswer::Kind::kAccepted;
        message.skip();
        break;
      case 2: {
        word.kind = DaemonAnswer::Kind::kBarrier;
        protozero::pbf_reader ack = message.get_message();
        while (ack.next()) {
          if (ack.tag() == 1) {
            word.sequence = ack.get_uint64();
          } else {
            ack.skip();
          }
        }
        break;
      }
      case 3:
        word.kind = DaemonAnswer::Kind::kRefused;
        message.skip();
        break;
      default:
        message.skip();
    }
  }
  return word;
}

// A packet with this process's credentials and perhaps a descriptor.
class Packet {
 public:
  Packet(std::span<const char> bytes, int attached) noexcept {
    data_ = {const_cast<char*>(bytes.data()), bytes.size()};
    header_.msg_iov = &data_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_;
    header_.msg_controllen = attached >= 0 ? sizeof(control_) : CMSG_SPACE(sizeof(ucred));
    cmsghdr* item = CMSG_FIRSTHDR(&header_);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_CREDENTIALS;
    item->cmsg_len = CMSG_LEN(sizeof(ucred));
    ucred credentials{::getpid(), ::geteuid(), ::getegid()};
    std::memcpy(CMSG_DATA(item), &credentials, sizeof(credentials));
    if (attached < 0) return;
    item = CMSG_NXTHDR(&header_, item);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &attached, sizeof(attached));
  }
  const msghdr* header() const { return &header_; }

 private:
  iovec data_{};
  msghdr header_{};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

bool Connection::Connect(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  fd_.store(fd, std::memory_order_relaxed);
  return true;
}

void Connection::Close() noexcept {
  int fd = fd_.exchange(-1, std::memory_order_relaxed);
  if (fd >= 0) ::close(fd);
}

Connection::Sent Connection::Send(std::span<const char> message, std::uint64_t tsc, int attached,
                                  const std::atomic<bool>& give_up) noexcept {
  if (message.size() <= kMaxPacketBytes) return SendPacket(message, attached, give_up);
  char memory[64];
  std::size_t size = 0;
  try {
    Encoder encoder(memory);
    encoder.root().add_uint64(1, tsc);
    encoder.root().add_uint64(2, message.size());
    size = encoder.size();
  } catch (...) {
    return Sent::kDropped;
  }
  int memfd = MakeSealedMemfd(message);
  if (memfd < 0) return Sent::kDropped;
  Sent sent = SendPacket({memory, size}, memfd, give_up);
  ::close(memfd);
  return sent;
}

Connection::Sent Connection::SendPacket(std::span<const char> packet, int attached,
                                        const std::atomic<bool>& give_up) noexcept {
  Packet message(packet, attached);
  constexpr int kSliceMs = 50;
  for (int waited = 0;;) {
    ssize_t sent = ::sendmsg(fd(), message.header(), MSG_NOSIGNAL);
    if (sent >= 0) return Sent::kYes;
    if (errno == EINTR) continue;
    bool full = errno == EAGAIN;
    bool short_of_memory = errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
    if (!full && !short_of_memory) return Sent::kBroken;
    if (waited >= kPatienceMs || give_up.load(std::memory_order_relaxed)) return Sent::kBroken;
    pollfd wait{fd(), static_cast<short>(full ? POLLOUT : 0), 0};
    if (::poll(&wait, 1, kSliceMs) == 0) waited += kSliceMs;
    if (wait.revents & (POLLHUP | POLLERR)) return Sent::kBroken;
  }
}

DaemonAnswer Connection::Receive() noexcept {
  char packet[4096];
  while (true) {
    ssize_t size = ::recv(fd(), packet, sizeof(packet), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size <= 0) return {DaemonAnswer::Kind::kClosed, 0};
    try {
      return Decode({packet, static_cast<std::size_t>(size)});
    } catch (...) {
      // Not a daemon of ours.
      return {DaemonAnswer::Kind::kClosed, 0};
    }
  }
}

}  // namespace tailor::agent
