// What call stacks tell of the operators that are objects, and whether tags say the same.
#pragma once

#include <cstdint>

namespace tailor::unwind {

// Samples whose stack shows an object: those whose tag names none, or one above it, and of the others those
// whose tag names the same and another one.
struct ObjectCounts {
  std::uint64_t told = 0, same = 0, other = 0;
};

}  // namespace tailor::unwind
