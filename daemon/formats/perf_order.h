// The byte order of a recording's machine. In a file of the other order, bytes become values here.
#pragma once

#include <concepts>
#include <cstdint>

namespace tailor::formats {

// kOther: of a machine that stores numbers the other way round (s390x, ppc64).
enum class ByteOrder : std::uint8_t { kOurs, kOther };

template <std::integral T>
T from_order(ByteOrder order, T value) {
  static_assert(sizeof value == 2 || sizeof value == 4 || sizeof value == 8);
  if (order == ByteOrder::kOurs) return value;
  if constexpr (sizeof value == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof value == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
}

}  // namespace tailor::formats
