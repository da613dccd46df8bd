// Whether samples of a timer stand for the CPU time that was used.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/profile/sink.h"

namespace tailor::query {

struct Coverage {
  double used_ns = 0, sampled_ns = 0;
  double share = 0;          // sampled of used
  bool falls_short = false;  // below 90 %, by more than chance
};

// `period` of the timer, ns. How many samples are taken of a time is left to chance: with n to be expected,
// three times the square root of n may be missing without a cause. Nothing if no time was used.
std::optional<Coverage> coverage_of(std::uint64_t used_ns, std::uint64_t sampled_ns, std::uint64_t period);
// Of a recording's first timer; nothing without one, or where the time used is not known.
std::optional<Coverage> coverage_of(const profile::RecordingInfo& recording);

}  // namespace tailor::query
