// What the clock model is fed with: plain data, read from the host by HostClock or made up by a test.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/base/ids.h"

namespace tailor::clock {

// rdtsc, clock_gettime(CLOCK_MONOTONIC_RAW), rdtsc: the clock had the value raw_ns somewhere between the two.
struct Pair {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  TimeNs raw_ns = 0;

  std::uint64_t middle() const { return before + (after - before) / 2; }
};

// struct perf_event_mmap_page with cap_user_time_zero: perf time = zero + (tsc * mult >> shift), where perf
// time is the kernel's sched_clock (linux/perf_event.h, "cap_usr_time_zero").
struct PerfPageTime {
  std::uint32_t mult = 0;
  std::uint16_t shift = 0;
  std::uint64_t zero = 0;

  bool operator==(const PerfPageTime&) const = default;
};

// The module's page while its flag says valid:
// raw = base_ns + (((tsc - cycle_last) * mult + remainder) >> shift).
struct ModuleTime {
  std::uint64_t cycle_last = 0;
  std::uint32_t mult = 0;
  std::uint32_t shift = 0;
  TimeNs base_ns = 0;
  std::uint64_t remainder = 0;
  std::uint64_t uncertainty_ns = 0;

  // The perf clock was perf_ns at some TSC value in [perf_tsc, perf_tsc + perf_ticks]. perf_tsc = 0: not
  // known.
  std::uint64_t perf_tsc = 0;
  std::uint64_t perf_ns = 0;
  std::uint64_t perf_ticks = 0;
};

struct Observation {
  Pair pair;
  bool tsc_is_clocksource = false;  // the kernel's current clocksource is the TSC
  std::optional<PerfPageTime> perf;
  std::optional<ModuleTime> module;
};

}  // namespace tailor::clock
