#include "compiler/weft/types/int128.h"

#include <algorithm>

namespace tailor::weft {

std::string to_string(Int128 value, int scale) {
  bool negative = value < 0;
  Uint128 rest = negative ? -static_cast<Uint128>(value) : static_cast<Uint128>(value);
  std::string digits;  // reversed
  for (int position = 0; rest != 0 || position <= scale; ++position, rest /= 10) {
    if (position == scale && scale > 0) digits += '.';
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace tailor::weft
