#include "daemon/clock/drain_times.h"

#include <algorithm>
#include <vector>

namespace tailor::clock {
namespace {

constexpr std::uint64_t kCyclesPerNs = 7;
constexpr std::uint64_t kEventsPerCycle = 16;

}  // namespace

std::uint64_t shortest_period_ns(std::uint64_t cycles) {
  return cycles / kCyclesPerNs;
}

std::uint64_t shortest_count_ns(std::uint64_t events) {
  return events / (kEventsPerCycle * kCyclesPerNs);
}

void GapCount::add(std::uint64_t gap_ns, std::uint64_t shortest_ns) {
  if (shortest_ns < kMinPeriodNs) return;
  // Half of what is possible leaves room for a record that was written late.
  ++(gap_ns < shortest_ns / 2 ? impossible_ : possible_);
}

RecordTimes GapCount::verdict() const {
  if (!enough()) return RecordTimes::kUnknown;
  const std::uint64_t gaps = possible_ + impossible_;
  if (impossible_ >= gaps - gaps / 10) return RecordTimes::kDrain;
  if (possible_ >= gaps - gaps / 10) return RecordTimes::kOwn;
  return RecordTimes::kUnknown;
}

void DrainTimeDetector::add(std::span<const TimeNs> times) {
  std::vector<TimeNs> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    gaps_.add(static_cast<std::uint64_t>(sorted[i]) - static_cast<std::uint64_t>(sorted[i - 1]),
              shortest_ns_);
  }
}

}  // namespace tailor::clock
