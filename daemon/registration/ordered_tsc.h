#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace tailor::registration {

// The daemon's rdtsc, after everything that came before it.
inline std::uint64_t ordered_tsc() {
  _mm_lfence();
  const std::uint64_t tsc = __rdtsc();
  _mm_lfence();
  return tsc;
}

}  // namespace tailor::registration
