// Periods that are drawn at random, so that samples do not keep step with what is sampled.
//
// A timer of a fixed period keeps step with every program that has the same period, or a simple ratio of it:
// all samples then fall on the same part of the program's cycle, however many there are. A prime period does
// not help: what counts is the ratio, not the number. So each event gets a period of its own, drawn from a
// quarter below to a quarter above, and another one after a while. Within the time of one period samples are
// evenly spaced; a draw that happens to keep step is rare, and is over with the next one.
//
// Each sample weighs the very period it was taken with, so sums do not depend on what was drawn. The draws
// keep the number of samples, not the period, on average as it was asked for.
#pragma once

#include <cstdint>
#include <random>

#include "daemon/capture/select/event_spec.h"

namespace tailor::capture {

inline constexpr double kJitter = 0.25;

// For how long a period lasts before another one is drawn: a new event begins with a whole period, and so
// loses half of one on average, which is little of so many.
inline constexpr TimeNs kLeastRedraw = 1'000'000'000;
inline constexpr std::uint64_t kRedrawPeriods = 200;
TimeNs redraw_after(const EventSpec& spec);

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

 private:
  std::mt19937_64 random_;
};

}  // namespace tailor::capture
