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
// A sample that lies alone, far from the others of its operator, may be of code that stands within the loop
// of another operator. So each operator is looked at with and without such samples, if they are a fifth of
// its samples at most.
//
// Gaps are measured in what was sampled meanwhile, so that a thread that loses its CPU makes none: schedulers
// take it away at a very even pace. So iterations that nothing but waiting divides cannot be seen.
std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples);

// How probable gaps that even are, at most, if an operator's samples lie among the others in random order.
//
// `excess`: by how much each long gap is longer than the longest short one, ascending. In random order, gaps
// have no memory: what they have beyond that length divides its sum like points that are thrown at it. Of n
// such parts, k have a share of at least x each with the chance (1 - kx)^(n-1). Some gaps may be odd: a third
// of them, at most 32, which are left out as too long or may be as short as they like. All choices of these
// count. Gaps are known to `resolution` only: nobody sees what lies between two samples.
double chance_of_gaps(const std::vector<double>& excess, double resolution);

}  // namespace tailor::query
