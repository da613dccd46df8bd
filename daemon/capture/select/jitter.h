// Periods that are drawn at random, so that samples do not keep step with what is sampled.
//
// A timer of a fixed period keeps step with every program that has the same period, or a simple ratio of it:
// all samples then fall on the same part of the program's cycle, however many there are. A prime period does
// not help: what counts is the ratio, not the number. So each event gets a period of its own, and another one
// after a while. Within the time of one period samples are evenly spaced.
//
// The rate is drawn, between half and twice the one asked for, and low rates are drawn more often.
// Evenly spaced samples of random rates have the variance of independent ones times the density of the
// periods at the multiples of the program's period: a sum which must not be above one, whatever the program's
// period is. Of an even draw it is: from a quarter below to a quarter above it comes to 2.5, and a fifth of
// the 95 % intervals of a program with such a period are wrong. So the density of the rate falls in three
// steps, such that the sum is 1.06 at most.
//
// Each sample weighs the very period it was taken with, so sums do not depend on what was drawn. The draws
// keep the number of samples, not the period, on average as it was asked for.
#pragma once

#include <cstdint>
#include <random>

#include "daemon/capture/select/event_spec.h"

namespace tailor::capture {

// The bounds of a drawn rate, in terms of the one asked for.
inline constexpr double kLowestRate = 0.5, kHighestRate = 2;

// A new event begins with a whole period, and so half of one is missing on average. Of this number of periods
// half a one is little.
inline constexpr std::uint64_t kPeriodsToLose = 200;

// For how long a period lasts before another one is drawn. A draw that happens to keep step is rare; the
// fewer of a recording's samples it has, the less it does. So it lasts for enough periods that half of one
// may be missing, but not for longer than some time, unless there are too few periods then.
inline constexpr TimeNs kLeastRedraw = 50'000'000, kLongRedraw = 250'000'000;
inline constexpr std::uint64_t kFewPeriods = 25;
TimeNs redraw_after(const EventSpec& spec);

// Where two events of opposite rates take turns: for how long each runs. So the number of samples follows the
// time that passes, over some tenths of a second already.
TimeNs turn_of(const EventSpec& spec);

// Whether an event's period is drawn: not of those that are counted one by one.
bool is_jittered(const EventSpec& spec);

// The longest that is drawn.
std::uint64_t longest_period(const EventSpec& spec);

// Deterministic: the same seed gives the same draws. Not thread-safe.
class PeriodDraw {
 public:
  explicit PeriodDraw(std::uint64_t seed) : random_(seed) {}

  // A period for an event of `spec`, as the hardware or the kernel can have it; that of `spec` where it is
  // not jittered.
  std::uint64_t draw(const EventSpec& spec);
  // Two such periods of opposite rates: where one is low, the other is high. Their samples in a given time
  // are together 0.91 to 1.25 times as many as were asked for.
  struct Pair {
    std::uint64_t one = 0, other = 0;
  };
  Pair draw_pair(const EventSpec& spec);
  // Any number below `end` (at least 1), each as likely as any other.
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  double even();

  std::mt19937_64 random_;
};

}  // namespace tailor::capture
