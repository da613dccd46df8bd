// Sorting materialised rows by a comparison that the query compiled.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {

// Generated: true if row a comes before row b.
using RowLess = bool (*)(const std::byte* a, const std::byte* b);

// One a running query. Lifecycle: collect() (one thread), sort_run() for every run (any threads), merge()
// (one thread); then `rows` is in order.
class SortedRows {
 public:
  // The order is an array of pointers to the rows, of `order_kind`.
  SortedRows(MemoryAccount& account, RegionKind order_kind) : rows_({account, order_kind}) {}
  // Throws QueryError.
  void collect(const std::vector<TupleBuffer*>& buffers, unsigned runs);
  std::size_t runs() const { return bounds_.empty() ? 0 : bounds_.size() - 1; }
  void sort_run(std::size_t run, RowLess less);
  void merge(RowLess less);

  std::uint64_t size() const { return rows_.size(); }
  std::byte* const* rows() const { return rows_.data(); }

 private:
  std::vector<std::byte*, AccountedAllocator<std::byte*>> rows_;
  std::vector<std::size_t> bounds_;
};

// The `limit` first rows in order that one thread has seen, in a heap whose top is the last of them.
class TopRows {
 public:
  TopRows(MemoryAccount& account, RegionKind kind, RegionKind order_kind, std::uint32_t row_bytes,
          std::uint64_t limit)
      : rows_(account, kind, row_bytes),
        candidate_(account, kind, row_bytes),
        limit_(limit),
        heap_({account, order_kind}) {
    scratch_ = candidate_.append();
  }
  // Where generated code writes the row that it then offers.
  std::byte* scratch() { return scratch_; }
  // Throws QueryError.
  void offer(RowLess less);
  TupleBuffer& rows() { return rows_; }

  static constexpr std::size_t kScratchOffset = 0;

 private:
  std::byte* scratch_;  // read by generated code
  TupleBuffer rows_;
  TupleBuffer candidate_;
  std::uint64_t limit_;
  std::vector<std::byte*, AccountedAllocator<std::byte*>> heap_;
};

}  // namespace tailor::weft

extern "C" {
void weft_rt_top_offer(tailor::weft::TopRows* top, tailor::weft::RowLess less);
std::byte* const* weft_rt_sorted_rows(const tailor::weft::SortedRows* rows);
}
