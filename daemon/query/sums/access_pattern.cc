#include "daemon/query/sums/access_pattern.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tailor::query {

std::string_view pattern_key(Pattern pattern) {
  constexpr std::array<std::string_view, 5> kKeys = {"unknown", "sequential", "strided", "random", "mixed"};
  return kKeys[static_cast<std::size_t>(pattern)];
}

void Steps::add(std::uint64_t a, std::uint64_t b) {
  // The same address again is no step: a counter or a hot element.
  up_ += b > a ? 1 : 0;
  down_ += b < a ? 1 : 0;
  divisor_ = std::gcd(divisor_, b > a ? b - a : a - b);
}

Walk Steps::walk() const {
  constexpr std::size_t kLeast = 15;
  constexpr std::uint64_t kCacheLine = 64;
  const std::size_t steps = up_ + down_;
  if (steps < kLeast) return {};
  const double one_way = static_cast<double>(std::max(up_, down_)) / static_cast<double>(steps);
  if (one_way >= 0.9)
    return divisor_ > kCacheLine ? Walk{Pattern::kStrided, divisor_} : Walk{Pattern::kSequential, 0};
  return {one_way <= 0.65 ? Pattern::kRandom : Pattern::kMixed, 0};
}

}  // namespace tailor::query
