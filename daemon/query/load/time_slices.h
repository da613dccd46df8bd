// Samples added up over slices of time: what a picture over time of very many samples is made of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/profile/cell.h"
#include "proto/base/ids.h"

namespace tailor::query {

// Samples of one cell in one slice. There may be several of both.
struct SliceRow {
  std::int64_t slice = 0;  // it begins at `slice` times the length of a slice
  std::uint32_t cell = 0;  // a number
  profile::Sum sum;
};

// Slices are as short as the rows in memory allow, and all have the same length, a power of two. One thread.
class TimeSlicer {
 public:
  static constexpr TimeNs kShortest = TimeNs{1} << 20;  // a millisecond

  // `shortest`: a power of two.
  explicit TimeSlicer(std::size_t most_rows, TimeNs shortest = kShortest)
      : most_(most_rows),
        shift_(static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(shortest)))) {}

  // `cell`: a number, the same for all samples of a cell. `time`: of any of the samples.
  void add(TimeNs time, std::uint32_t cell, const profile::Sum& sum);
  TimeNs slice_ns() const { return TimeNs{1} << shift_; }
  // By time. Nothing is left.
  std::vector<SliceRow> take();
  bool overflows() const { return rows_.size() > most_; }  // however long slices are
  std::size_t bytes() const {
    return rows_.capacity() * sizeof(SliceRow) + last_.capacity() * sizeof(last_[0]);
  }

 private:
  profile::Sum& sum_of(std::int64_t slice, std::uint32_t cell);
  bool can_halve() const;
  void halve();

  std::size_t most_;
  std::uint32_t shift_;
  bool one_slice_ = false;  // too many rows, and all of them in one slice
  std::vector<SliceRow> rows_;
  std::vector<std::uint32_t> last_;  // by cell: its last row, plus 1
};

}  // namespace tailor::query
