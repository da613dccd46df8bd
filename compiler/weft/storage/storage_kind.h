// How the values of a column lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailor::weft {

// The numbers are part of the table file format: never reuse one.
enum class StorageKind : std::uint8_t {
  kInt8 = 1,  // signed, sign-extended when loaded
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kChar = 5,        // one byte of text, exactly one character a row
  kString = 6,      // row i is heap[offset[i], offset[i + 1]), 32-bit offsets
  kLongString = 7,  // the same with 64-bit offsets
};

// Bytes of one element of a column's `values` array.
constexpr std::size_t element_size(StorageKind kind) {
  switch (kind) {
    case StorageKind::kInt8:
    case StorageKind::kChar:
      return 1;
    case StorageKind::kInt16:
      return 2;
    case StorageKind::kInt32:
    case StorageKind::kString:
      return 4;
    case StorageKind::kInt64:
    case StorageKind::kLongString:
      return 8;
  }
  return 0;
}

constexpr bool is_string(StorageKind kind) {
  return kind == StorageKind::kString || kind == StorageKind::kLongString;
}

// The narrowest integer kind that holds [min, max].
constexpr StorageKind narrowest_integer(std::int64_t min, std::int64_t max) {
  if (min >= INT8_MIN && max <= INT8_MAX) return StorageKind::kInt8;
  if (min >= INT16_MIN && max <= INT16_MAX) return StorageKind::kInt16;
  if (min >= INT32_MIN && max <= INT32_MAX) return StorageKind::kInt32;
  return StorageKind::kInt64;
}

}  // namespace tailor::weft
