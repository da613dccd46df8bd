// The rate at which the kernel's own clocks count the TSC, from the TSC frequency.
#pragma once

#include <cstdint>

namespace tailor::clock {

struct Rate {
  std::uint64_t mult = 0;
  std::uint32_t shift = 0;
};

// The TSC frequency that perf's mult and shift were made from, in kHz: ns a tick = mult / 2^shift. 0 if none.
std::uint64_t khz_of_perf_rate(std::uint32_t mult, std::uint32_t shift);

// mult and shift that the kernel gives a 64-bit TSC clocksource of `khz` when it registers it: the rate of
// CLOCK_MONOTONIC_RAW, exactly (kernel/time/clocksource.c, clocks_calc_mult_shift with the 600 s range of
// __clocksource_update_freq_scale). Rounded to what fits 600 s into 64 bits, it is up to ~60 ppb away from
// 1/frequency: 60 ns in a second. mult = 0 if khz is 0 or above 2^32 - 1.
Rate clocksource_rate(std::uint64_t khz);

}  // namespace tailor::clock
