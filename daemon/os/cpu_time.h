// CPU time as the kernel accounts it.
#pragma once

#include <cstdint>

namespace tailor::os {

// In ns.
struct CpuTime {
  std::uint64_t user_ns = 0, system_ns = 0;
  std::uint64_t all() const { return user_ns + system_ns; }
};

}  // namespace tailor::os
