// A connection's bytes, with bounds on how long anybody waits for the peer.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>

#include "daemon/serve/http/byte_stream.h"

namespace tailor::serve {

// Reads end after a while, and after too many bytes for one request; writes end once an answer has waited for
// its reader for too long in all.
class SocketBytes : public ByteStream {
 public:
  struct Limits {
    std::chrono::milliseconds read{5'000}, linger{500};
    std::chrono::milliseconds write{10'000};  // and the time that the slowest reader takes:
    std::size_t slowest_reader = 16 << 10;    // bytes a second
    std::size_t request_bytes = 64 << 10;     // its line and headers; httplib bounds lines, not their number
  };
  // The descriptor stays the caller's.
  SocketBytes(int fd, const std::atomic<bool>& stopping) : SocketBytes(fd, stopping, Limits()) {}
  SocketBytes(int fd, const std::atomic<bool>& stopping, const Limits& limits)
      : fd_(fd), stopping_(stopping), limits_(limits) {}

  void begin_request();
  ssize_t read(char* to, std::size_t size) override;
  // What the socket takes at once.
  ssize_t write(const char* from, std::size_t size) override;
  bool readable() const override { return wait(POLLIN, 0); }
  bool writable() const override { return !closed_by_peer() && wait_for_reader(); }
  bool closed_by_peer() const override;
  // Closing a socket with bytes that nobody read takes the answer back that is on its way: they are read away
  // first, as far as that is little.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short events, int timeout_ms) const;
  bool wait_for_reader() const;

  const int fd_;
  const std::atomic<bool>& stopping_;
  const Limits limits_;
  std::size_t read_ = 0;
  Clock::time_point deadline_;
  std::size_t written_ = 0;              // of this answer
  mutable Clock::duration waited_ = {};  // for its reader
};

}  // namespace tailor::serve
