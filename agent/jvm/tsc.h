// The clock of all times that an agent says (docs/timestamps.md).
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace tailor::jvm {

inline std::uint64_t read_tsc() {
  return __rdtsc();
}

}  // namespace tailor::jvm
