#include "daemon/process/component_ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::process {

Status ComponentRanges::add(std::uint32_t component, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end)
    return invalid(fmt::format("component {}: code range {:#x}-{:#x} is empty", component, begin, end));
  const Range range{begin, end, component};
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](std::uint64_t b, const Range& r) { return b < r.end; });
  if (at != ranges_.end() && at->begin < end) {
    if (*at == range) return Ok{};
    return invalid(fmt::format("component {}: code range {:#x}-{:#x} overlaps that of component {}",
                               component, begin, end, at->component));
  }
  if (ranges_.size() >= limits_.component_ranges) {
    return invalid(
        fmt::format("component {}: {} code ranges are declared already", component, ranges_.size()));
  }
  ranges_.insert(at, range);
  return Ok{};
}

std::uint32_t ComponentRanges::find(std::uint64_t address) const {
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                   [](std::uint64_t a, const Range& r) { return a < r.end; });
  return at != ranges_.end() && at->begin <= address ? at->component : 0;
}

}  // namespace tailor::process
