#include "agent/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/sealed_memfd.h"
#include "agent/wire.h"

namespace tailor::agent {

namespace {

// The number in field `field` of a message, 0 if there is none.
std::uint64_t number_in(std::string_view bytes, std::uint32_t field) {
  std::uint64_t number = 0;
  for (WireReader message(bytes); message.next();) {
    if (message.field() == field) number = message.number();
  }
  return number;
}

std::uint32_t untagged_in(std::string_view settings) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(settings, 1), 1000));
}

// Fields that a later daemon adds are passed over.
DaemonAnswer decode(std::span<const char> packet) {
  DaemonAnswer answer;
  answer.kind = DaemonAnswer::Kind::kOther;
  WireReader message({packet.data(), packet.size()});
  while (message.next()) {
    switch (message.field()) {
      case 1:
        answer.kind = DaemonAnswer::Kind::kAccepted;
        for (WireReader ack(message.bytes()); ack.next();) {
          if (ack.field() == 4) answer.untagged_permille = untagged_in(ack.bytes());
          if (ack.field() == 5)
            answer.label_sets = static_cast<std::uint32_t>(std::min<std::uint64_t>(ack.number(), UINT32_MAX));
        }
        break;
      case 2:
        answer.kind = DaemonAnswer::Kind::kBarrier;
        answer.sequence = number_in(message.bytes(), 1);
        break;
      case 3:
        answer.kind = DaemonAnswer::Kind::kRefused;
        break;
      case 5:
        answer.kind = DaemonAnswer::Kind::kSettings;
        answer.untagged_permille = untagged_in(message.bytes());
        break;
      default:
        break;
    }
  }
  // What does not decode is not a daemon of ours.
  if (!message.ok()) answer.kind = DaemonAnswer::Kind::kClosed;
  return answer;
}

bool has_room(int socket) {
  pollfd room{socket, POLLOUT, 0};
  return ::poll(&room, 1, 0) != 0;
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

bool Connection::connect(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (!socket_.take(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))) return false;
  if (::connect(socket_.checked(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return true;
  int error = errno;
  socket_.close();
  errno = error;
  return false;
}

Connection::Sent Connection::send(std::span<const char> message, std::uint64_t tsc, int attached) noexcept {
  int socket = socket_.checked();
  if (socket < 0) return Sent::kBroken;
  if (message.size() <= kMaxPacketBytes) return send_packet(socket, message, attached);
  if (!has_room(socket)) return Sent::kFull;
  char memory[64];
  FixedWire wire{FixedMemory(memory)};
  wire.number(1, tsc);
  wire.number(2, message.size());
  int memfd = make_sealed_memfd(message);
  if (memfd < 0) return Sent::kDropped;
  Sent sent = send_packet(socket, wire.bytes(), memfd);
  ::close(memfd);
  return sent;
}

Connection::Sent Connection::send_packet(int socket, std::span<const char> packet, int attached) noexcept {
  Packet message(packet, attached);
  while (::sendmsg(socket, message.header(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    bool full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
    return full ? Sent::kFull : Sent::kBroken;
  }
  return Sent::kYes;
}

DaemonAnswer Connection::receive() noexcept {
  char packet[4096];
  while (true) {
    ssize_t size = ::recv(socket_.checked(), packet, sizeof(packet), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size <= 0) return {DaemonAnswer::Kind::kClosed, 0};
    return decode({packet, static_cast<std::size_t>(size)});
  }
}

}  // namespace tailor::agent
