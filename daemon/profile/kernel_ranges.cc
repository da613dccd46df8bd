#include "daemon/profile/kernel_ranges.h"

#include <iterator>

namespace tailor::profile {

std::vector<std::pair<std::uint64_t, std::uint64_t>> KernelRanges::cut(std::uint64_t begin,
                                                                       std::uint64_t end) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  auto at = ranges_.lower_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second.end > begin) {
    std::uint64_t& before = std::prev(at)->second.end;
    out.emplace_back(begin, std::exchange(before, begin));
  }
  while (at != ranges_.end() && at->first < end) {
    out.emplace_back(at->first, at->second.end);
    at = ranges_.erase(at);
  }
  return out;
}

bool KernelRanges::has(std::uint64_t begin, const Range& range) const {
  const auto known = ranges_.find(begin);
  return known != ranges_.end() && known->second.end == range.end && known->second.path == range.path;
}

}  // namespace tailor::profile
