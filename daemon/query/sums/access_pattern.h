// How a region of memory was walked through: what sampled addresses tell of it (the paper's Figure 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tailor::query {

enum class Pattern : std::uint8_t {
  kUnknown,     // too few samples
  kSequential,  // from one end to the other, in either direction
  kStrided,     // the same, in steps of more than a cache line
  kRandom,      // no direction
  kMixed,       // neither
};

// "sequential", "unknown" ...
std::string_view pattern_key(Pattern pattern);

struct Walk {
  Pattern pattern = Pattern::kUnknown;
  std::uint64_t stride = 0;  // kStrided: bytes; a multiple of the program's own, if samples missed some
};

// Counts the steps between successive samples. Sampled accesses are far apart, so only the order of their
// addresses tells: of a walk in one direction nine of ten steps have the same sign, although the walk may
// begin again; of random accesses half have. Fewer than fifteen steps tell nothing.
class Steps {
 public:
  // One thread accessed one region on behalf of one operator in one execution: first at `a`, then at `b`.
  void add(std::uint64_t a, std::uint64_t b);
  Walk walk() const;

 private:
  std::size_t up_ = 0, down_ = 0;
  std::uint64_t divisor_ = 0;  // of all steps
};

}  // namespace tailor::query
