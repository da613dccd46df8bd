// 128-bit integers: exact intermediate results and value ranges.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace tailor::weft {

using Int128 = __int128;
using Uint128 = unsigned __int128;

inline constexpr Int128 kInt128Max = static_cast<Int128>(~static_cast<Uint128>(0) >> 1);
inline constexpr Int128 kInt128Min = -kInt128Max - 1;
inline constexpr int kMaxPowerOfTen = 38;

// 10^n for n in [0, 38].
constexpr Int128 power_of_ten(int n) {
  Int128 result = 1;
  for (int i = 0; i < n; ++i) result *= 10;
  return result;
}

// Decimal digits, with `scale` of them behind the point: (12345, 2) is "123.45".
std::string to_string(Int128 value, int scale = 0);

}  // namespace tailor::weft
