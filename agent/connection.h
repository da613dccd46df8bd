// The agent's end of the socket. Used by the sender thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "agent/message.h"

namespace tailor::agent {

// What a daemon can say (DaemonMessage).
struct DaemonAnswer {
  enum class Kind : std::uint8_t { kNothing, kAccepted, kBarrier, kRefused, kClosed };
  Kind kind = Kind::kNothing;
  std::uint64_t sequence = 0;  // of a barrier
};

class Connection {
 public:
  // Packets up to this size travel as they are, larger ones in a memfd.
  static constexpr std::size_t kMaxPacketBytes = 64 * 1024;

  ~Connection() { Close(); }

  // One attempt, at once. False: no daemon there (errno says why).
  bool Connect(const std::string& path) noexcept;
  bool connected() const { return fd() >= 0; }
  int fd() const { return fd_.load(std::memory_order_relaxed); }
  void Close() noexcept;

  enum class Sent : std::uint8_t {
    kYes,
    kDropped,  // this message cannot be sent (no memory or descriptors); the connection is as good as before
    kBroken,   // the connection is of no use any more
  };

  // Sends one message, with the sender's credentials and, where `attached` >= 0, a descriptor. Waits for room
  // in the socket while the daemon is slow, until it has made no progress for kPatienceMs or `give_up` turns
  // true: then the connection is broken.
  Sent Send(std::span<const char> message, std::uint64_t tsc, int attached,
            const std::atomic<bool>& give_up) noexcept;

  // The next word of the daemon, without waiting.
  DaemonAnswer Receive() noexcept;

 private:
  static constexpr int kPatienceMs = 5000;

  Sent SendPacket(std::span<const char> packet, int attached, const std::atomic<bool>& give_up) noexcept;

  std::atomic<int> fd_{-1};  // read by the fork handler
};

}  // namespace tailor::agent
