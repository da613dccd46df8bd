// How long a thread was ready to run and had no CPU, as the kernel's scheduler counts it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "proto/base/unique_fd.h"

namespace tailor::os {

// Of one thread, which alone may use it.
class QueueTime {
 public:
  // Of the calling thread. `proc`: Os::proc().
  static QueueTime of_this_thread(const std::filesystem::path& proc);

  // In ns, since the thread began. 0 if the kernel does not count it.
  std::uint64_t ns() const;

 private:
  UniqueFd file_;
};

}  // namespace tailor::os
