#include "daemon/process/stub_ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::process {

std::string StubRanges::problem_of(const v1::CodeObject& code) {
  if (code.stubs_size() > kMostOfACode) return fmt::format("has {} ranges of stubs", code.stubs_size());
  for (const v1::CodeRange& range : code.stubs()) {
    if (range.size() > kMostBytes || range.address() + range.size() < range.address())
      return fmt::format("has stubs of {} bytes at {:#x}", range.size(), range.address());
  }
  return {};
}

void StubRanges::add(const v1::CodeObject& code, TimeNs loaded) {
  for (const v1::CodeRange& range : code.stubs()) {
    if (range.size() == 0 || ranges_.size() >= most_) continue;
    live_.emplace(code.id(),
                  ranges_.emplace(range.address(), Range{range.address() + range.size(), loaded, kTimeMax}));
  }
}

void StubRanges::remove(CodeId code, TimeNs time) {
  const auto [first, last] = live_.equal_range(code);
  for (auto each = first; each != last;) {
    Range& range = each->second->second;
    if (range.loaded > time) {
      ++each;
      continue;
    }
    range.unloaded = time;
    removed_.emplace(time, each->second);
    each = live_.erase(each);
  }
}

void StubRanges::trim(TimeNs watermark) {
  while (!removed_.empty() && removed_.begin()->first <= watermark) {
    ranges_.erase(removed_.begin()->second);
    removed_.erase(removed_.begin());
  }
}

// Ranges may overlap, where one was loaded after the other: a few are looked at.
bool StubRanges::holds(std::uint64_t address, TimeNs time) const {
  constexpr int kMostLooks = 16;
  auto next = ranges_.upper_bound(address);
  for (int looks = 0; looks < kMostLooks && next != ranges_.begin(); ++looks) {
    const auto& [begin, range] = *--next;
    if (address - begin >= kMostBytes) return false;
    if (address < range.end && range.loaded <= time && time < range.unloaded) return true;
  }
  return false;
}

}  // namespace tailor::process
