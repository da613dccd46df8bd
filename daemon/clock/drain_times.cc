#include "daemon/clock/drain_times.h"

#include <algorithm>
#include <vector>

namespace tailor::clock {
namespace {

constexpr std::uint64_t kCyclesPerNs = 7;

}  // namespace

std::uint64_t shortest_period_ns(std::uint64_t cycles) {
  return cycles / kCyclesPerNs;
}

void DrainTimeDetector::add(std::span<const TimeNs> times) {
  if (shortest_ns_ < kMinPeriodNs) return;
  std::vector<TimeNs> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto gap = static_cast<std::uint64_t>(sorted[i]) - static_cast<std::uint64_t>(sorted[i - 1]);
    // Half of what is possible leaves room for a record that was written late.
    ++(gap < shortest_ns_ / 2 ? impossible_ : possible_);
  }
}

RecordTimes DrainTimeDetector::verdict() const {
  const std::uint64_t gaps = possible_ + impossible_;
  if (gaps < kMinGaps) return RecordTimes::kUnknown;
  if (impossible_ >= gaps - gaps / 10) return RecordTimes::kDrain;
  if (possible_ >= gaps - gaps / 10) return RecordTimes::kOwn;
  return RecordTimes::kUnknown;
}

}  // namespace tailor::clock
