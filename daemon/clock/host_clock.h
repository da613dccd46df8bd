// Reads from the host what the clock model wants to know.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/clock/observation.h"

namespace tailor::clock {

// The TSC, not reordered with what surrounds it.
std::uint64_t read_tsc();

// CLOCK_MONOTONIC_RAW in ns.
TimeNs read_raw_ns();

// The narrowest of `tries` pairs; about 60 ns each. Any thread.
Pair read_pair(int tries);

// Any one thread at a time.
class HostClock {
 public:
  // `sys` is where sysfs is mounted; tests give a directory of their own.
  explicit HostClock(std::string sys = "/sys");

  // One observation; some microseconds.
  Observation observe();

 private:
  bool tsc_is_clocksource() const;

  std::string clocksource_path_;
};

}  // namespace tailor::clock
