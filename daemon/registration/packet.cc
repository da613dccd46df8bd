#include "daemon/registration/packet.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "daemon/registration/limits.h"

namespace tailor::registration {

namespace {

// As many as the kernel passes at once (SCM_MAX_FD). Where there is less room it closes the rest itself, in
// this thread.
constexpr std::size_t kMostDescriptors = 253;

void take_control(msghdr& header, Packet& packet) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET) continue;
    if (item->cmsg_type == SCM_CREDENTIALS && item->cmsg_len >= CMSG_LEN(sizeof(ucred))) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(item), sizeof(credentials));
      packet.sender = credentials.pid;
    }
    if (item->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(fd));
      UniqueFd owned(fd);
      const bool is_first = !packet.attached && packet.foreign.empty();
      packet.oversized |= !is_first;
      if (is_first && is_memory_file(fd)) {
        packet.attached = std::move(owned);
      } else {
        packet.foreign.push_back(std::move(owned));
      }
    }
  }
}

}  // namespace

Packet receive_packet(int socket) {
  Packet packet;
  thread_local char buffer[kMaxPacketBytes];
  iovec data{buffer, sizeof(buffer)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMostDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return packet;
  if (size < 0) {
    packet.state = Packet::State::kEnd;
    return packet;
  }
  take_control(header, packet);
  // An agent never sends an empty packet; zero bytes are how a closed connection reads.
  packet.state = size == 0 ? Packet::State::kEnd : Packet::State::kGot;
  packet.oversized |= (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  packet.bytes.assign(buffer, static_cast<std::size_t>(size));
  return packet;
}

void discard_unread(int socket) {
  constexpr int kMost = 256;
  char byte;
  for (int i = 0; i < kMost && ::recv(socket, &byte, sizeof byte, MSG_DONTWAIT) > 0; ++i) {
  }
}

bool is_memory_file(int fd) {
  return ::fcntl(fd, F_GET_SEALS) >= 0;
}

}  // namespace tailor::registration
