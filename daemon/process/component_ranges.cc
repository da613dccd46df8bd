#include "daemon/process/component_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tailor::process {

Status ComponentRanges::add(std::uint32_t component, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end)
    return invalid(fmt::format("component {}: code range {:#x}-{:#x} is empty", component, begin, end));
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](std::uint64_t b, const Range& r) { return b < r.end; });
  const auto behind = std::find_if(at, ranges_.end(), [end](const Range& r) { return r.begin >= end; });
  const auto other = std::find_if(at, behind, [=](const Range& r) { return r.component != component; });
  if (other != behind) {
    return invalid(fmt::format("component {}: code range {:#x}-{:#x} overlaps that of component {}",
                               component, begin, end, other->component));
  }
  if (at != behind) {
    at->begin = std::min(at->begin, begin);
    at->end = std::max(std::prev(behind)->end, end);
    ranges_.erase(std::next(at), behind);
    return Ok{};
  }
  if (ranges_.size() >= limits_.component_ranges) {
    return invalid(
        fmt::format("component {}: {} code ranges are declared already", component, ranges_.size()));
  }
  ranges_.insert(at, Range{begin, end, component});
  return Ok{};
}

std::uint32_t ComponentRanges::find(std::uint64_t address) const {
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                   [](std::uint64_t a, const Range& r) { return a < r.end; });
  return at != ranges_.end() && at->begin <= address ? at->component : 0;
}

}  // namespace tailor::process
