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
std::uint64_t NumberIn(std::string_view bytes, std::uint32_t field) {
  std::uint64_t number = 0;
  for (WireReader message(bytes); message.Next();) {
    if (message.field() == field) number = message.number();
  }
  return number;
}

std::uint32_t UntaggedIn(std::string_view settings) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(NumberIn(settings, 1), 1000));
}

// Fields that a later daemon adds are passed over.
DaemonAnswer Decode(std::span<const char> packet) {
  DaemonAnswer word;
  word.kind = DaemonAnswer::Kind::kOther;
  WireReader message({packet.data(), packet.size()});
  while (message.Next()) {
    switch (message.field()) {
      case 1:
        word.kind = DaemonAnswer::Kind::kAccepted;
        for (WireReader ack(message.bytes()); ack.Next();) {
          if (ack.field() == 4) word.untagged_permille = UntaggedIn(ack.bytes());
        }
        break;
      case 2:
        word.kind = DaemonAnswer::Kind::kBarrier;
        word.sequence = NumberIn(message.bytes(), 1);
        break;
      case 3:
        word.kind = DaemonAnswer::Kind::kRefused;
        break;
      case 5:
        word.kind = DaemonAnswer::Kind::kSettings;
        word.untagged_permille = UntaggedIn(message.bytes());
        break;
      default:
        break;
    }
  }
  // What does not decode is not a daemon of ours.
  if (!message.ok()) word.kind = DaemonAnswer::Kind::kClosed;
  return word;
}

bool HasRoom(int socket) {
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

bool Connection::Connect(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (!socket_.Take(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))) return false;
  if (::connect(socket_.Checked(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return true;
  int error = errno;
  socket_.Close();
  errno = error;
  return false;
}

Connection::Sent Connection::Send(std::span<const char> message, std::uint64_t tsc, int attached) noexcept {
  int socket = socket_.Checked();
  if (socket < 0) return Sent::kBroken;
  if (message.size() <= kMaxPacketBytes) return SendPacket(socket, message, attached);
  if (!HasRoom(socket)) return Sent::kFull;
  char memory[64];
  FixedWire wire{FixedMemory(memory)};
  wire.Number(1, tsc);
  wire.Number(2, message.size());
  int memfd = MakeSealedMemfd(message);
  if (memfd < 0) return Sent::kDropped;
  Sent sent = SendPacket(socket, wire.bytes(), memfd);
  ::close(memfd);
  return sent;
}

Connection::Sent Connection::SendPacket(int socket, std::span<const char> packet, int attached) noexcept {
  Packet message(packet, attached);
  while (::sendmsg(socket, message.header(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    bool full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
    return full ? Sent::kFull : Sent::kBroken;
  }
  return Sent::kYes;
}

DaemonAnswer Connection::Receive() noexcept {
  char packet[4096];
  while (true) {
    ssize_t size = ::recv(socket_.Checked(), packet, sizeof(packet), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size <= 0) return {DaemonAnswer::Kind::kClosed, 0};
    return Decode({packet, static_cast<std::size_t>(size)});
  }
}

}  // namespace tailor::agent
