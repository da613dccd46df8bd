// The agent's end of the socket. Used by the thread that pumps (ours, or the host's), one at a time.
// Nothing here waits.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "agent/descriptor.h"
#include "agent/message.h"

namespace tailor::agent {

// What a daemon can say (DaemonMessage).
struct DaemonAnswer {
  enum class Kind : std::uint8_t { kNothing, kAccepted, kBarrier, kRefused, kSettings, kOther, kClosed };
  Kind kind = Kind::kNothing;
  std::uint64_t sequence = 0;  // of a barrier
  // With kAccepted and kSettings: how many of a thousand executions are to be begun without tags.
  std::uint32_t untagged_permille = 0;
  std::uint32_t label_sets = 0;  // with kAccepted: how many the daemon keeps
};

class Connection {
 public:
  // Packets up to this size travel as they are, larger ones in a memfd.
  static constexpr std::size_t kMaxPacketBytes = 64 * 1024;

  // One attempt. False: no daemon there (errno says why).
  bool connect(const std::string& path) noexcept;
  bool connected() const noexcept { return socket_.has(); }
  // For poll; -1 if the host has closed it.
  int fd() const noexcept { return socket_.checked(); }
  void close() noexcept { socket_.close(); }

  enum class Sent : std::uint8_t {
    kYes,
    kFull,     // no room in the socket now
    kDropped,  // this message cannot be sent (no memory or descriptors); the connection is as good as before
    kBroken,   // the connection is of no use any more
  };

  // Sends one message, with the sender's credentials and, where `attached` >= 0, a descriptor.
  Sent send(std::span<const char> message, std::uint64_t tsc, int attached) noexcept;

  // The next answer of the daemon.
  DaemonAnswer receive() noexcept;

 private:
  Sent send_packet(int socket, std::span<const char> packet, int attached) noexcept;

  Descriptor socket_;
};

}  // namespace tailor::agent
