// A straight piece of the map from raw TSC values to Tailor's time, as plain data: it is journalled, stored
// in profiles and sent between threads as it is.
#pragma once

#include <cstdint>

#include "proto/base/ids.h"

namespace tailor::clock {

// Where the parameters came from, best first. Stored in journals: never renumber.
enum class Source : std::uint8_t {
  kModule = 0,       // the page of /dev/tailor_clock: the timekeeper's own parameters
  kPerfPage = 1,     // rate from perf_event_mmap_page (cap_user_time_zero), offset from read pairs
  kCalibration = 2,  // rate and offset from pairs of rdtsc and CLOCK_MONOTONIC_RAW
};

inline constexpr std::uint64_t kPpb = 1'000'000'000;

// What reports and profiles call `source`: "module", "perf-page", "calibration".
const char* name(Source source);

// time = base_ns + ((tsc - from_tsc) * mult >> shift), for tsc >= from_tsc until the next conversion begins.
// mult = 0 is a hold: time stands still while it waits for the clock to catch up with what was given out.
struct Conversion {
  std::uint64_t from_tsc = 0;
  TimeNs base_ns = 0;
  std::uint64_t mult = 0;
  std::uint32_t shift = 0;  // at most 63
  Source source = Source::kCalibration;
  bool trusted = false;         // the kernel keeps its own time by the TSC now, so all CPUs agree on it
  std::uint64_t error_ns = 0;   // bound on |time - CLOCK_MONOTONIC_RAW| at from_tsc ...
  std::uint64_t drift_ppb = 0;  // ... which grows by this much per second of distance, in ns

  bool operator==(const Conversion&) const = default;
};

// The time of `tsc` on the straight line of `c`, also before from_tsc. Saturates instead of overflowing.
// Pure.
TimeNs to_ns(const Conversion& c, std::uint64_t tsc);

// The largest TSC value whose time on the line of `c` is <= `ns`; from_tsc in a hold. Saturates. Pure.
std::uint64_t to_tsc(const Conversion& c, TimeNs ns);

// The error bound of `c` at `tsc`, in ns. Pure.
std::uint64_t error_bound_ns(const Conversion& c, std::uint64_t tsc);

// Moves the beginning of `c` to `tsc` along its line, the bound with it and 1 ns more for rounding. Pure.
Conversion rebased(const Conversion& c, std::uint64_t tsc);

}  // namespace tailor::clock
