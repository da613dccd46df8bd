// The whole map from TSC to time: conversions in order, each from its from_tsc until the next begins. It
// never decreases: growing TSC values become times that do not run backward.
//
// Life: a clock::Model appends to its timeline as observations come in; a replay appends the conversions that
// the journal kept and so gets the same times to the nanosecond. Not synchronised: threads other than the
// owner work on a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/clock/conversion.h"
#include "proto/base/result.h"

namespace tailor::clock {

class Timeline {
 public:
  // How many conversions are kept. A settled clock changes every few minutes, so this spans hours; TSC values
  // older than the oldest kept conversion are converted along its line.
  static constexpr std::size_t kKept = 4096;

  // Adds `next`, replacing conversions that begin at or after next.from_tsc. Error, and no change, if its
  // shift is above 63 or if time would run backward where it begins.
  Status append(const Conversion& next);

  // Starts anew with `first`, after the TSC itself was set back (resume, migration): kept values and those
  // after the reset look the same. Error, and no change, if the shift is above 63.
  Status restart(const Conversion& first);

  bool empty() const { return pieces_.empty(); }

  // Time of `tsc`; kTimeMin while empty.
  TimeNs to_ns(std::uint64_t tsc) const;
  // The largest TSC value whose time is <= `ns`; 0 while empty.
  std::uint64_t to_tsc(TimeNs ns) const;
  // Bound on the error of to_ns(tsc), in ns; UINT64_MAX while empty.
  std::uint64_t error_bound_ns(std::uint64_t tsc) const;

  // The conversion in force at `tsc`. Not to be called while empty.
  const Conversion& at(std::uint64_t tsc) const;
  // Oldest first.
  const std::vector<Conversion>& pieces() const { return pieces_; }

 private:
  std::vector<Conversion> pieces_;
};

}  // namespace tailor::clock
