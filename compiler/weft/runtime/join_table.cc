#include "compiler/weft/runtime/join_table.h"

#include <atomic>
#include <bit>

#include "compiler/weft/runtime/query_error.h"

namespace tailor::weft {

JoinTable::~JoinTable() {
  account_->free(directory_, slots_ * sizeof(std::uint64_t));
}

void JoinTable::open(const std::vector<TupleBuffer*>& buffers) {
  std::uint64_t rows = 0;
  for (TupleBuffer* buffer : buffers) {
    row_bytes_ = buffer->row_bytes();
    buffer->for_each_chunk([&](std::byte* begin, std::byte* end) {
      if (begin == end) return;
      pieces_.push_back({begin, end});
      rows += static_cast<std::uint64_t>(end - begin) / row_bytes_;
    });
  }
  // At least two slots, so that the shift stays below 64.
  slots_ = std::bit_ceil(std::max<std::uint64_t>(rows + rows / 2, 2));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_));
  directory_ = static_cast<std::uint64_t*>(account_->allocate_zeroed(slots_ * sizeof(std::uint64_t), kind_));
}

void JoinTable::insert(std::size_t piece) {
  for (std::byte* at = pieces_[piece].begin; at != pieces_[piece].end; at += row_bytes_) {
    auto* row = reinterpret_cast<HashRow*>(at);
    std::atomic_ref<std::uint64_t> slot(directory_[row->hash >> shift_]);
    std::uint64_t old = slot.load(std::memory_order_relaxed);
    std::uint64_t fresh;
    do {
      row->next = reinterpret_cast<HashRow*>(old & kJoinPointerMask);
      fresh = reinterpret_cast<std::uint64_t>(row) | (old & ~kJoinPointerMask) | join_filter_bit(row->hash);
    } while (!slot.compare_exchange_weak(old, fresh, std::memory_order_release, std::memory_order_relaxed));
  }
}

}  // namespace tailor::weft

void weft_rt_join_piece(const tailor::weft::JoinTable* table, std::uint64_t piece, std::byte** bounds) {
  bounds[0] = table->piece(piece).begin;
  bounds[1] = table->piece(piece).end;
}

void weft_rt_fail_single() {
  tailor::weft::fail("more than one row returned by a subquery used as an expression");
}
