// Lines through pairs of rdtsc and CLOCK_MONOTONIC_RAW, with bounds that hold as long as the clock is linear
// in the TSC; a pair that no line within the bounds explains restarts the window.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "daemon/clock/conversion.h"
#include "daemon/clock/observation.h"

namespace tailor::clock {

class Calibration {
 public:
  static constexpr std::size_t kWindow = 64;
  // What two oscillators (a clocksource other than the TSC) may differ by before it counts as a break.
  static constexpr std::uint64_t kSlackNs = 1000;

  enum class Verdict {
    kFits,      // the pair agrees with the line so far
    kBreak,     // the clock left its line: the window was restarted with this pair
    kTscReset,  // the TSC ran backward: likewise
    kRejected,  // before > after, or time ran backward while the TSC did not: the pair was not used
  };

  Verdict add(const Pair& pair);

  // The best line, beginning at the newest pair. Nothing until two pairs were seen.
  // After a break the rate is that of before it, and the bound says how little is known.
  std::optional<Conversion> line() const;

  // A line of the given rate (mult / 2^shift ns a tick) with the offset that all pairs of the window allow;
  // nothing if no offset fits them all within 1 ns.
  std::optional<Conversion> line_with_rate(std::uint64_t mult, std::uint32_t shift) const;

  // The TSC ticks that the window spans.
  std::uint64_t span() const;

 private:
  std::uint64_t half_width_ns(const Pair& pair) const;
  bool fits(const Pair& pair) const;
  void update_rate();

  std::deque<Pair> pairs_;
  std::uint64_t mult_ = 0;  // ns a tick in units of 2^-kShift; 0 unknown
  std::uint64_t drift_ppb_ = 0;
};

}  // namespace tailor::clock
