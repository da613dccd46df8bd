// What samples of one owner come to in a summary, in whole numbers: the same in whatever order they are
// added, and however often they are added up in between (docs/profile-format.md, "Summaries").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/profile/cell.h"

namespace tailor::store {

using Wide = profile::Sum::Wide;

// The number of parts of a sample, and of its weight: those of several owners are divided among them.
inline constexpr std::uint32_t kParts = 1u << 20;

// The parts that owners with these shares have, which add up to 1. The rest is the first one's.
std::vector<std::uint32_t> whole_parts(std::span<const double> shares);

// A number in parts, for who computes with it.
double to_number(Wide parts);
// The next number of parts; what exceeds them gives the greatest.
Wide to_parts(double number);

// All in parts. What exceeds a field stays at its greatest value.
struct CostSum {
  Wide samples = 0;
  Wide weight = 0;      // in the unit
  Wide squares = 0;     // of weights: of a sample that is divided each owner has its part of the square
  Wide kernel = 0;      // weight of those in kernel mode
  Wide inferred = 0;    // weight of those whose location was inferred
  Wide undetailed = 0;  // weight of which the last three are not known: older programs summed it up

  // `parts`: how much of these samples is the owner's.
  void add(const profile::Sum& sum, std::uint32_t parts, bool in_kernel, bool is_inferred);
  void add(const CostSum& other);
  bool detailed() const { return undetailed == 0; }
  bool operator==(const CostSum&) const = default;
};

}  // namespace tailor::store
