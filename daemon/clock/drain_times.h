// Tells kernels that stamp a PEBS record with its own time from those that stamp it with the time at which
// the buffer was drained (before Linux 6.1, and later where use_clockid or a sched_clock other than the TSC
// makes the kernel skip the record's TSC).
//
// PEBS records of a fixed period are written one period apart. Stamped at the drain, most records lie as
// close together as the kernel walks through its buffer, some 100 ns each: closer than the hardware can have
// counted a period, if the period is chosen long enough.
#pragma once

#include <cstdint>
#include <span>

#include "proto/base/ids.h"

namespace tailor::clock {

enum class RecordTimes : std::uint8_t {
  kUnknown = 0,  // too little was seen, or it contradicts itself
  kOwn = 1,      // each record has its own time
  kDrain = 2,  // all records of a drain have the drain's: turn large PEBS off, take the time of the interrupt
};

// The shortest time in ns in which a CPU can count `cycles` cycles: at 7 GHz. Pure.
std::uint64_t shortest_period_ns(std::uint64_t cycles);

// The same for any event, of which 16 can happen in a cycle: more than a core of today retires. Pure.
std::uint64_t shortest_count_ns(std::uint64_t events);

// Distances between neighbouring records of one event on one CPU, as evidence. Pure, no clock.
class GapCount {
 public:
  // Fewer neighbours give no verdict.
  static constexpr std::uint64_t kMinGaps = 200;
  // A period that passes faster cannot be told from a drain's own pace: it is no evidence.
  static constexpr std::uint64_t kMinPeriodNs = 600;

  // `gap_ns` lies between two records; the hardware cannot have counted from one to the other in less than
  // `shortest_ns`.
  void add(std::uint64_t gap_ns, std::uint64_t shortest_ns);
  bool enough() const { return possible_ + impossible_ >= kMinGaps; }
  // 90 % of the neighbours have to agree.
  RecordTimes verdict() const;

 private:
  std::uint64_t possible_ = 0;
  std::uint64_t impossible_ = 0;
};

// Collects evidence from many records at once; pure, no clock. One per event.
class DrainTimeDetector {
 public:
  // `shortest_ns`: the least time between two records, shortest_period_ns of the period.
  explicit DrainTimeDetector(std::uint64_t shortest_ns) : shortest_ns_(shortest_ns) {}

  // The times of records of one CPU, in any order.
  void add(std::span<const TimeNs> times);
  RecordTimes verdict() const { return gaps_.verdict(); }

 private:
  std::uint64_t shortest_ns_;
  GapCount gaps_;
};

}  // namespace tailor::clock
