// How a join finds the rows of an input that have a key: a hash table of chains. `buckets` has for each hash
// the first row, and `links` for each row the next one of its chain. Both count rows from 1; 0 ends a chain.
// Generated code reads it (lowering.cc), so its layout is fixed. Chains have the rows in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "compiler/weft/workflow/workflow.h"

namespace tailor::weft::workflow {

// The bucket of a key is (key * factor) >> shift: multiplicative hashing (Knuth, "The Art of Computer
// Programming", vol. 3, section 6.4), with 2^64 divided by the golden ratio.
inline constexpr std::uint64_t kIndexFactor = 0x9E3779B97F4A7C15;

struct IndexShape {
  std::uint64_t rows = 0;
  unsigned bits = 1;  // 2^bits buckets: at least as many as rows

  std::size_t bucket_bytes() const { return std::size_t{8} << bits; }
  std::size_t link_bytes() const { return (rows == 0 ? 1 : rows) * std::size_t{8}; }
  std::uint64_t shift() const { return 64 - bits; }
};
IndexShape index_shape(std::uint64_t rows);

// Fills both arrays. `buckets` is zeroed; `keys` has the rows' keys, which are i64 or i32. `stopped` is asked
// now and then: if it says true, the rest is left out.
void fill_index(const IndexShape& shape, const std::byte* keys, Scalar scalar, std::byte* buckets,
                std::byte* links, const std::function<bool()>& stopped);

}  // namespace tailor::weft::workflow
