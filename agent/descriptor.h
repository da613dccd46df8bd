// A descriptor that lives in the host's table, where the host may close it by mistake and get its number
// again for a file of its own. So nothing is done with it before it was seen to be still ours.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace tailor::agent {

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Takes a descriptor that was made just now, or none (-1). Numbers below 3 are given back for higher ones:
  // a host without standard streams would write its output into ours. False if there is none then.
  bool take(int fd) noexcept;

  // The number if it is still what was taken, else -1.
  int checked() const noexcept;
  bool has() const noexcept { return fd_.load(std::memory_order_relaxed) >= 0; }
  // Closes it if it is still ours.
  void close() noexcept;

 private:
  std::atomic<int> fd_{-1};  // read by the fork handler
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace tailor::agent
