// A socket whose last close waits, and how a descriptor is sent.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <string>

#include "proto/base/unique_fd.h"

namespace tailor {

// The last close of `ours` waits a minute for a peer that does not read, or until `theirs` is closed. Both
// are empty where the host has no loopback.
class LingeringSocket {
 public:
  LingeringSocket() {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), where, size) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), where, &size) != 0)
      return;
    ours.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(ours.get(), where, size) != 0) {
      ours.reset();
      return;
    }
    theirs.reset(::accept(listener.get(), nullptr, nullptr));
    const std::string much(1 << 16, 'x');
    while (::send(ours.get(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
    }
    const linger wait{.l_onoff = 1, .l_linger = 60};
    ::setsockopt(ours.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  }
  UniqueFd ours, theirs;
};

// Sends a byte over a UNIX socket, with a descriptor. Whether it went out; errno says why not.
inline bool send_attached(int socket, int attached) {
  char byte = 'x';
  iovec data{&byte, 1};
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
  return ::sendmsg(socket, &header, MSG_NOSIGNAL) == 1;
}

}  // namespace tailor
