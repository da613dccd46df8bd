// Finds a loop in the times of samples alone.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::query {

struct OwnedSample {
  TimeNs time = 0;
  ComponentId owner = kNoComponent;  // operator
  std::uint64_t weight = 1;          // in the unit of the source
};

// Where the iterations of a loop end, by samples in the order of time; empty where they show no loop.
//
// Each iteration passes the same operators in the same order. An operator that works in one part of the
// iteration only has its samples in bursts, with gaps in between that are far longer than those within. Such
// operators vote on how many bursts there are, and where they differ by little, the most even one is right,
// and of several that whose gaps are the clearest. An operator that works in every fifth iteration only has
// its pace too: the fastest counts that has a quarter of the votes of the best. An iteration ends with the
// last sample, before the next burst, of that operator and of those whose samples come between its bursts,
// and behind the last rather than in front of the first. Bursts must come at an even pace: half to one and a
// half times the median of the periods around, four times in five. Iterations shorter than some three samples
// of such an operator cannot be seen.
//
// Gaps are measured in what was sampled meanwhile, so that a thread that loses its CPU for a while makes
// none; only where that shows no loop, in time: operators may be apart by nothing but waiting.
std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples);

}  // namespace tailor::query
