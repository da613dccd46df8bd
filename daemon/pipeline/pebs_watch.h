// Looks at the times of PEBS records as they are decoded: a kernel that gives them the time of the drain is
// found out also where a trial (pebs_probe.h) saw nothing, and where it began to do so later.
//
// Batches can only convict: records farther apart than a drain writes them may still be those of drains of
// one record each.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/capture/decode/intake.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/clock/drain_times.h"

namespace tailor::pipeline {

// One thread. A few ns a sample, nothing allocated per sample.
class PebsWatch {
 public:
  // A chunk of one ring whose records are stamped by perf's own clock, in the order of the ring.
  void add(capture::RingIndex ring, const capture::Intake& chunk);
  void forget(capture::RingIndex ring) { rings_.erase(ring); }

  // Of GapCount::kMinGaps neighbours more than a tenth were closer than the hardware can count. Stays so.
  bool doubted() const { return doubted_; }

 private:
  // Records of one event follow each other by a period only within a thread: each thread has its own counter.
  struct Lane {
    std::uint16_t source = 0;
    std::int32_t tid = 0;
    TimeNs last = 0;
    clock::GapCount gaps;
  };

  static Lane& lane_of(std::vector<Lane>& lanes, std::uint16_t source);
  void add(Lane& lane, const capture::Event& event);

  std::map<capture::RingIndex, std::vector<Lane>> rings_;
  bool doubted_ = false;
};

}  // namespace tailor::pipeline
