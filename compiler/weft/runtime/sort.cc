#include "compiler/weft/runtime/sort.h"

#include <algorithm>
#include <cstring>

namespace tailor::weft {

void SortedRows::collect(const std::vector<TupleBuffer*>& buffers, unsigned runs) {
  std::uint64_t rows = 0;
  for (TupleBuffer* buffer : buffers) rows += buffer->rows();
  rows_.reserve(rows);
  for (TupleBuffer* buffer : buffers) {
    buffer->for_each_chunk([&](std::byte* begin, std::byte* end) {
      for (std::byte* row = begin; row != end; row += buffer->row_bytes()) rows_.push_back(row);
    });
  }
  for (unsigned run = 0; run <= runs; ++run) bounds_.push_back(rows_.size() * run / runs);
}

void SortedRows::sort_run(std::size_t run, RowLess less) {
  std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(bounds_[run]),
            rows_.begin() + static_cast<std::ptrdiff_t>(bounds_[run + 1]), less);
}

void SortedRows::merge(RowLess less) {
  for (std::size_t run = 1; run + 1 < bounds_.size(); ++run) {
    std::inplace_merge(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(bounds_[run]),
                       rows_.begin() + static_cast<std::ptrdiff_t>(bounds_[run + 1]), less);
  }
}

void TopRows::offer(RowLess less) {
  std::byte* row;
  if (heap_.size() < limit_) {
    row = rows_.append();
  } else {
    if (limit_ == 0 || !less(scratch_, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), less);
    row = heap_.back();
    heap_.pop_back();
  }
  std::memcpy(row, scratch_, rows_.row_bytes());
  heap_.push_back(row);
  std::push_heap(heap_.begin(), heap_.end(), less);
}

}  // namespace tailor::weft

void weft_rt_top_offer(tailor::weft::TopRows* top, tailor::weft::RowLess less) {
  top->offer(less);
}
std::byte* const* weft_rt_sorted_rows(const tailor::weft::SortedRows* rows) {
  return rows->rows();
}
