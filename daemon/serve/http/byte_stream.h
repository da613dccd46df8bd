// A connection as the server sees it: its bytes, and its other end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tailor::serve {

// One connection's end that sends and receives bytes. Blocks for a bounded time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual ssize_t read(char* to, std::size_t size) = 0;  // 0: over; below 0: failed
  virtual ssize_t write(const char* from, std::size_t size) = 0;
  virtual bool readable() const = 0;
  virtual bool writable() const = 0;
  virtual bool closed_by_peer() const = 0;
};

struct Peer {
  bool local = false;
  std::uint32_t uid = 0;
  bool metrics_only = false;
};

}  // namespace tailor::serve
