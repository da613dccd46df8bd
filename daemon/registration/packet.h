// One packet from the socket, with what the kernel says about it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "proto/base/unique_fd.h"

namespace tailor::registration {

struct Packet {
  enum class State { kGot, kNothing, kEnd };
  State state = State::kNothing;
  std::string bytes;
  // To close these may take long (descriptor_closer.h).
  UniqueFd attached;  // the first descriptor, if it is a memory file
  // What came beside it, or instead.
  std::vector<UniqueFd> foreign;
  bool oversized = false;  // more bytes or descriptors than any agent sends; `bytes` are cut
  pid_t sender = 0;        // process that sent it, 0 if it is not visible from here
};

// Takes the next packet without waiting. kEnd: the peer closed, or the socket is broken.
Packet receive_packet(int socket);

// Takes what waits in the socket, up to some hundred packets, and throws it away: a socket that is closed
// with unread packets tells its peer of an error before what was said to it. Descriptors in these packets
// are closed, which may take long.
void discard_unread(int socket);

// What all agents pass. To close one waits for nobody, but may free many pages.
bool is_memory_file(int fd);

}  // namespace tailor::registration
