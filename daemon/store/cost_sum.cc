#include "daemon/store/cost_sum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tailor::store {
namespace {

Wide in_parts(Wide number, std::uint32_t parts) {
  constexpr Wide kMost = static_cast<Wide>(-1);
  if (parts != 0 && number > kMost / parts) return kMost;
  return number * parts;
}

}  // namespace

std::vector<std::uint32_t> whole_parts(std::span<const double> shares) {
  std::vector<std::uint32_t> parts(shares.size());
  std::uint32_t left = kParts;
  for (std::size_t i = shares.size(); i-- > 1;) {
    const double share = std::clamp(shares[i], 0.0, 1.0);
    parts[i] = std::min(left, static_cast<std::uint32_t>(share * kParts));
    left -= parts[i];
  }
  if (!parts.empty()) parts[0] = left;
  return parts;
}

double to_number(Wide parts) {
  return static_cast<double>(parts) / kParts;
}

Wide to_parts(double number) {
  constexpr double kMost = 0x1p107;  // times kParts it is below 2^128
  if (!(number > 0)) return 0;
  if (number >= kMost) return static_cast<Wide>(-1);
  return static_cast<Wide>(std::round(number * kParts));
}

void CostSum::add(const profile::Sum& sum, std::uint32_t parts, bool in_kernel, bool is_inferred) {
  const Wide part_weight = in_parts(sum.weight, parts);
  profile::add_bounded(samples, in_parts(sum.samples, parts));
  profile::add_bounded(weight, part_weight);
  profile::add_bounded(squares, in_parts(sum.weight_squares, parts));
  if (in_kernel) profile::add_bounded(kernel, part_weight);
  if (is_inferred) profile::add_bounded(inferred, part_weight);
}

void CostSum::add(const CostSum& other) {
  profile::add_bounded(samples, other.samples);
  profile::add_bounded(weight, other.weight);
  profile::add_bounded(squares, other.squares);
  profile::add_bounded(kernel, other.kernel);
  profile::add_bounded(inferred, other.inferred);
  profile::add_bounded(undetailed, other.undetailed);
}

}  // namespace tailor::store
