// From CLOCK_MONOTONIC, the clock a BPF program has, to the time base (CLOCK_MONOTONIC_RAW).
//
// The two drift apart as NTP corrects the first, by at most 500 ppm: between two pairs taken 50 ms apart a
// straight line is right to far below a microsecond.
#pragma once

#include "proto/base/ids.h"

namespace tailor::bpf {

// Both clocks at one moment.
struct ClockPair {
  TimeNs monotonic = 0;
  TimeNs raw = 0;
};

// The narrowest of a few readings: right to about 0.1 us.
ClockPair read_clock_pair();

// The time base at `monotonic`, on the line through two pairs; also before the first and after the second.
// Pure.
TimeNs to_raw(const ClockPair& first, const ClockPair& second, TimeNs monotonic);

}  // namespace tailor::bpf
