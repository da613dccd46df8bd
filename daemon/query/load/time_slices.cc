#include "daemon/query/load/time_slices.h"

#include <algorithm>
#include <utility>

namespace tailor::query {

// Samples come nearly in the order of time, so a cell's last row is nearly always the one.
profile::Sum& TimeSlicer::sum_of(std::int64_t slice, std::uint32_t cell) {
  if (cell >= last_.size()) last_.resize(std::max<std::size_t>(cell + 1, 2 * last_.size()));
  std::uint32_t& last = last_[cell];
  if (last == 0 || rows_[last - 1].slice != slice) {
    rows_.push_back({slice, cell, {}});
    last = static_cast<std::uint32_t>(rows_.size());
  }
  return rows_[last - 1].sum;
}

void TimeSlicer::add(TimeNs time, std::uint32_t cell, const profile::Sum& sum) {
  sum_of(time >> shift_, cell).add(sum);
  // Where all is in one slice, only a sample outside of it changes that.
  if (one_slice_ && time >> shift_ == rows_.front().slice) return;
  one_slice_ = false;
  while (rows_.size() > most_ && !one_slice_) {
    one_slice_ = !can_halve();
    if (!one_slice_) halve();
  }
}

// More than one slice is left.
bool TimeSlicer::can_halve() const {
  return std::ranges::any_of(rows_, [this](const SliceRow& row) { return row.slice != rows_.front().slice; });
}

void TimeSlicer::halve() {
  ++shift_;
  std::ranges::fill(last_, 0);
  for (const SliceRow& row : std::exchange(rows_, {})) sum_of(row.slice >> 1, row.cell).add(row.sum);
}

std::vector<SliceRow> TimeSlicer::take() {
  last_.clear();
  std::ranges::stable_sort(rows_, {}, &SliceRow::slice);
  return std::exchange(rows_, {});
}

}  // namespace tailor::query
