// perf's own clock, which events without use_clockid carry (PEBS always), as a straight map from the TSC.
//
// A perf line is a Conversion whose base_ns is perf time; the time of an event is then
//   timeline.to_ns(to_tsc(perf_line, perf_time)).
#pragma once

#include <optional>

#include "daemon/clock/calibration.h"
#include "daemon/clock/conversion.h"
#include "daemon/clock/observation.h"
#include "daemon/clock/timeline.h"

namespace tailor::clock {

// The exact line of a perf mmap page. Nothing if its parameters make no sense. Pure.
std::optional<Conversion> perf_line_of(const PerfPageTime& page);

// The time of an event that carries `perf_time`. kTimeMin while the timeline is empty. Pure.
TimeNs perf_to_ns(const Conversion& perf_line, const Timeline& timeline, std::uint64_t perf_time);

// Keeps the perf line up to date from observations: the mmap page's where there is one, else a line through
// the pairs in the module's page, which is good to their brackets and may step by that much when renewed.
class PerfTime {
 public:
  void observe(const Observation& seen);
  // Nothing where neither source is there: then only events with use_clockid have a time.
  const std::optional<Conversion>& line() const { return line_; }

 private:
  Calibration pairs_;
  std::optional<Conversion> line_;
};

}  // namespace tailor::clock
