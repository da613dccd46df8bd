// The time stamp of everything an agent says: raw rdtsc.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace tailor::agent {

inline std::uint64_t tsc() {
  return __rdtsc();
}

}  // namespace tailor::agent
