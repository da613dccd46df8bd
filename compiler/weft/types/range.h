// Value ranges: what an integer-like value can be at most, proven from the statistics of immutable tables.
// They decide physical widths: arithmetic whose range fits cannot overflow and needs no check.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/weft/types/int128.h"

namespace tailor::weft {

// A closed interval. Null values lie outside of it.
struct Range {
  Int128 min = kInt128Min;
  Int128 max = kInt128Max;

  static constexpr Range of(Int128 value) { return {value, value}; }
  static constexpr Range all() { return {}; }

  constexpr bool contains(Int128 value) const { return min <= value && value <= max; }
  constexpr bool fits(const Range& outer) const { return outer.min <= min && max <= outer.max; }
  constexpr Range united(const Range& other) const {
    return {std::min(min, other.min), std::max(max, other.max)};
  }
  bool operator==(const Range&) const = default;
};

inline constexpr Range kRange32{INT32_MIN, INT32_MAX};
inline constexpr Range kRange64{INT64_MIN, INT64_MAX};

// The range of a result, and whether a 128-bit operation can leave 128 bits: then the code must check it.
struct RangeResult {
  Range range;
  bool may_overflow = false;
};

RangeResult add(const Range& a, const Range& b);
RangeResult subtract(const Range& a, const Range& b);
RangeResult multiply(const Range& a, const Range& b);
// Division rounded half away from zero; a zero divisor gives null and so adds nothing to the range.
Range divide(const Range& a, const Range& b);

}  // namespace tailor::weft
