#include "daemon/process/region_timeline.h"

#include <algorithm>
#include <iterator>

namespace tailor::process {

void RegionTimeline::add(std::uint32_t kind, std::uint64_t base, std::uint64_t bytes, TimeNs time,
                         std::int32_t tid) {
  if (bytes == 0 || base + bytes < base) {
    ++unmatched_;
    return;
  }
  if (waiting_.size() >= limits_.region_changes) {
    ++refused_;
    return;
  }
  wait({time, 0, {base, base + bytes, kind, time, tid, false}, What::kAdd});
}

// Never refused: what is removed makes room.
void RegionTimeline::remove(std::uint64_t base, TimeNs time) {
  if (waiting_.size() >= limits_.region_changes) advance(waiting_.front().time);
  wait({time, 0, {base, 0, 0, time, 0, false}, What::kRemove});
}

void RegionTimeline::clear(TimeNs time) {
  if (live_.empty() && waiting_.empty()) return;
  wait({time, 0, {}, What::kClear});
}

void RegionTimeline::wait(const Change& change) {
  waiting_.push_back(change);
  waiting_.back().number = arrived_++;
  std::push_heap(waiting_.begin(), waiting_.end(), later);
}

void RegionTimeline::advance(TimeNs time) {
  now_ = std::max(now_, time);
  while (!waiting_.empty() && waiting_.front().time <= now_) {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    apply(waiting_.back());
    waiting_.pop_back();
  }
}

const Region* RegionTimeline::find(std::uint64_t address, TimeNs time) {
  advance(time);
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  if (address >= region.end) return nullptr;
  if (!std::exchange(region.found, true)) found_.push_back({true, region, region.from});
  return &region;
}

void RegionTimeline::apply(const Change& change) {
  switch (change.what) {
    case What::kAdd:
      end_overlapped(change.region, change.time);
      if (live_.size() < limits_.regions) {
        live_.insert_or_assign(change.region.base, change.region);
      } else {
        ++refused_;
      }
      return;
    case What::kRemove:
      if (const auto at = live_.find(change.region.base); at != live_.end()) {
        end(at->second, change.time);
        live_.erase(at);
      } else {
        ++unmatched_;
      }
      return;
    case What::kClear:
      for (const auto& [base, region] : live_) end(region, change.time);
      live_.clear();
      return;
  }
}

void RegionTimeline::end(const Region& region, TimeNs time) {
  if (region.found) found_.push_back({false, region, time});
}

void RegionTimeline::end_overlapped(const Region& region, TimeNs time) {
  auto at = live_.lower_bound(region.base);
  if (at != live_.begin() && std::prev(at)->second.end > region.base) --at;
  while (at != live_.end() && at->first < region.end) {
    end(at->second, time);
    at = live_.erase(at);
    ++replaced_;
  }
}

}  // namespace tailor::process
