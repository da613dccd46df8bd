// Sockets whose clients have no descriptors to send.
#pragma once

#include <sys/socket.h>

namespace tailor::os {

// From now on nobody can send descriptors over connections to this socket, which must be a UNIX socket. A
// process that tries gets EPERM. If the socket listens later, that holds for the connections that it accepts.
// The messages that it sends itself may hold descriptors. False where the kernel cannot do it: Linux
// before 6.16.
inline bool refuse_passed_descriptors(int socket) {
  constexpr int kSoPassRights = 83;  // SO_PASSRIGHTS, which older headers lack
  const int no = 0;
  return ::setsockopt(socket, SOL_SOCKET, kSoPassRights, &no, sizeof no) == 0;
}

}  // namespace tailor::os
