// Rows of one size, appended by one thread: what joins, groupings, sorts and results materialise into.
//
// Rows never move, so pointers to them stay good as long as the buffer. Generated code appends by itself
// while there is room, at the offsets asserted below, and calls weft_rt_grow when there is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/weft/runtime/memory.h"

namespace tailor::weft {

// The rows follow the header.
struct TupleChunk {
  TupleChunk* next;
  std::uint64_t bytes;  // allocated, header included
  std::byte* end;       // of the last row; of the buffer's last chunk it is the buffer's `next`
  std::uint64_t reserved[5];

  std::byte* rows() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(TupleChunk) == 64);

class TupleBuffer {
 public:
  TupleBuffer(MemoryAccount& account, RegionKind kind, std::uint32_t row_bytes)
      : account_(&account), kind_(kind), row_bytes_(row_bytes) {}
  ~TupleBuffer();
  TupleBuffer(const TupleBuffer&) = delete;
  TupleBuffer& operator=(const TupleBuffer&) = delete;

  std::byte* append() {
    if (next_ == limit_) grow();
    std::byte* row = next_;
    next_ += row_bytes_;
    return row;
  }
  // Makes room for at least one more row. Throws QueryError.
  void grow();

  std::uint32_t row_bytes() const { return row_bytes_; }
  // Rows so far.
  std::uint64_t rows() const;

  // Calls visit(begin, end) for the rows of every chunk.
  template <typename Visit>
  void for_each_chunk(const Visit& visit) const {
    for (TupleChunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
      visit(chunk->rows(), chunk->next == nullptr ? next_ : chunk->end);
    }
  }

  static constexpr std::size_t kNextOffset = 0;
  static constexpr std::size_t kLimitOffset = 8;

 private:
  std::byte* next_ = nullptr;   // where the next row goes
  std::byte* limit_ = nullptr;  // equal to next_ when the chunk is full: it holds a whole number of rows
  TupleChunk* first_ = nullptr;
  TupleChunk* last_ = nullptr;
  MemoryAccount* account_;
  RegionKind kind_;
  std::uint32_t row_bytes_;
};

}  // namespace tailor::weft

extern "C" {
// TupleBuffer::append when there is no room left.
void* weft_rt_grow(tailor::weft::TupleBuffer* buffer);
}
