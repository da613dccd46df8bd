// What executions cost where only a share of them is sampled (profile/draw.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

// Executions that were drawn by one share. The cost of those that are not drawn is not known.
struct DrawnSum {
  std::uint64_t executions = 0, drawn = 0;
  double weight = 0;   // of those that are drawn, as are the next
  double squares = 0;  // of each one's weight
  double noise = 0;    // variance of the weight that sampling makes

  // `samples`: that the weight was found by.
  void add(bool is_drawn, double cost, double samples) {
    ++executions;
    if (!is_drawn) return;
    ++drawn;
    weight += cost;
    squares += cost * cost;
    if (samples > 0) noise += cost * cost / samples;
  }
};

// Of all executions, by those that are drawn.
struct DrawnTotal {
  std::uint64_t executions = 0, drawn = 0;
  double weight = 0;
  double low = 0, high = 0;  // 95 %
};

// The expansion estimator of a simple random sample, within each of `parts` (Cochran, "Sampling Techniques",
// chapters 2 and 5): which executions are drawn says nothing about their cost. To the variance between
// executions comes that of the samples. The interval is that of Student's t distribution: among few
// executions of very different cost it is still too narrow. Nothing where all are drawn, or fewer than two of
// a part that has others.
std::optional<DrawnTotal> drawn_total(std::span<const DrawnSum> parts);

// Of the executions of the selection, in the unit of the source. Workers are a part of their leader. Empty
// where every execution of the profile is drawn.
DrawnSum drawn_sum(const Profile& profile, const Selection& selection, std::uint16_t source);

}  // namespace tailor::query
