// Finds a loop in the times of samples alone.
#pragma once

#include <vector>

#include "proto/base/ids.h"

namespace tailor::query {

struct OwnedSample {
  TimeNs time = 0;
  ComponentId owner = kNoComponent;  // operator
};

// Where the iterations of a loop end, by samples in the order of time; empty where they show no loop.
//
// Each iteration passes the same operators in the same order. An operator that works in one part of the
// iteration only has its samples in bursts, with gaps in between that are far longer than those within. Such
// operators vote on how many bursts there are; of those that agree, the one whose first burst ends last is
// the end of an iteration. Bursts must come at an even pace: half to one and a half times the median period,
// four times in five. Iterations shorter than some three samples of such an operator cannot be seen.
std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples);

}  // namespace tailor::query
