// What every row in a hash table begins with, and how hashes choose slots.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailor::weft {

struct HashRow {
  HashRow* next;  // in the same slot
  std::uint64_t hash;
};
inline constexpr std::size_t kHashRowBytes = sizeof(HashRow);

// Slots are chosen by the high bits of the hash, partitions and filter bits by the low ones.
inline constexpr unsigned kGroupPartitionBits = 6;
inline constexpr unsigned kGroupPartitions = 1u << kGroupPartitionBits;

// A join slot: the low 48 bits are the first row, the high 16 say which of 16 hash classes occur in the
// chain.
inline constexpr unsigned kJoinFilterShift = 48;
inline constexpr std::uint64_t kJoinPointerMask = (std::uint64_t{1} << kJoinFilterShift) - 1;
inline constexpr std::uint64_t join_filter_bit(std::uint64_t hash) {
  return std::uint64_t{1} << (kJoinFilterShift + (hash & 15));
}

}  // namespace tailor::weft
