#include "compiler/weft/storage/distinct_sketch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tailor::weft {

void DistinctSketch::add(std::string_view text) {
  std::uint64_t hash = text.size();
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word);
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, at, left);
  add_hash(mix(hash ^ tail));
}

void DistinctSketch::merge(const DistinctSketch& other) {
  for (std::size_t i = 0; i < registers_.size(); ++i)
    registers_[i] = std::max(registers_[i], other.registers_[i]);
}

std::uint64_t DistinctSketch::estimate() const {
  const double m = static_cast<double>(registers_.size());
  double sum = 0;
  std::size_t zeros = 0;
  for (std::uint8_t rank : registers_) {
    sum += std::ldexp(1.0, -rank);
    zeros += rank == 0;
  }
  double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  // Linear counting is the better estimator while many registers are untouched.
  if (estimate <= 2.5 * m && zeros > 0) estimate = m * std::log(m / static_cast<double>(zeros));
  return static_cast<std::uint64_t>(std::llround(estimate));
}

}  // namespace tailor::weft
