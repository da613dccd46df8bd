// Tells kernels that stamp a PEBS record with its own time from those that stamp it with the time at which
// the buffer was drained (before Linux 6.1, and later where use_clockid or a sched_clock other than the TSC
// makes the kernel skip the record's TSC).
//
// PEBS records of a fixed period are written one period apart. Stamped at the drain, the records of one drain
// lie closer together than the hardware could have counted a period: that is what is looked for. A drain's
// own pace of some 100 ns a record bounds what can be told: the period must take longer than that (cycles:
// 5000 do; loads: 1000 do not).
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

// The shortest time in ns in which a CPU can count `period` of an event of which it counts at most
// `per_cycle` in a cycle (cycles: 1), at 7 GHz. Pure.
std::uint64_t shortest_period_ns(std::uint64_t period, std::uint32_t per_cycle);

// Collects evidence batch by batch; pure, no clock. One per event and recording.
class DrainTimeDetector {
 public:
  // Fewer records in a batch say nothing; fewer batches give no verdict.
  static constexpr std::size_t kMinRecords = 8;
  static constexpr std::uint64_t kMinBatches = 20;
  // Below this a drain's own pace cannot be told from the event's.
  static constexpr std::uint64_t kMinPeriodNs = 300;

  // `shortest_ns`: shortest_period_ns of the event.
  explicit DrainTimeDetector(std::uint64_t shortest_ns) : shortest_ns_(shortest_ns) {}

  // The times of the records of one drain of one CPU (read between two wakeups of one ring), in any order.
  void add(std::span<const TimeNs> times);

  // 90 % of the batches have to agree.
  RecordTimes verdict() const;

 private:
  std::uint64_t shortest_ns_;
  std::uint64_t possible_ = 0;
  std::uint64_t impossible_ = 0;
};

}  // namespace tailor::clock
