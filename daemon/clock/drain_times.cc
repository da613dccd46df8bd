#include "daemon/clock/drain_times.h"

#include <algorithm>

namespace tailor::clock {
namespace {

constexpr std::uint64_t kCyclesPerNs = 7;

}  // namespace

std::uint64_t shortest_period_ns(std::uint64_t period, std::uint32_t per_cycle) {
  return period / kCyclesPerNs / std::max(per_cycle, 1u);
}

void DrainTimeDetector::add(std::span<const TimeNs> times) {
  if (times.size() < kMinRecords || shortest_ns_ < kMinPeriodNs) return;
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const auto span = static_cast<unsigned __int128>(static_cast<__int128>(*last) - *first);
  // Half of what is possible leaves room for records that the PEBS assist delayed.
  const auto needed = static_cast<unsigned __int128>(times.size() - 1) * shortest_ns_ / 2;
  ++(span < needed ? impossible_ : possible_);
}

RecordTimes DrainTimeDetector::verdict() const {
  const std::uint64_t batches = possible_ + impossible_;
  if (batches < kMinBatches) return RecordTimes::kUnknown;
  if (impossible_ >= batches - batches / 10) return RecordTimes::kDrain;
  if (possible_ >= batches - batches / 10) return RecordTimes::kOwn;
  return RecordTimes::kUnknown;
}

}  // namespace tailor::clock
