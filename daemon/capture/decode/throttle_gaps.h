// For how long the kernel let events stand still because they came too often: from PERF_RECORD_THROTTLE to
// the PERF_RECORD_UNTHROTTLE of the same event (perf_event_open(2)). A ring stands still while any of its
// events does; times of several events that overlap count once.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/capture/decode/event.h"
#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::capture {

// A ring that goes on.
struct ThrottleGap {
  std::int32_t pid = 0;  // as in the layout of the ring
  std::uint32_t cpu = 0;
  std::uint64_t ns = 0;
};

// Fed with the events of each ring in their order. Not thread-safe; deterministic.
class ThrottleGaps {
 public:
  // What ended with `event`, of the ring of that layout. The end of a thread ends the gaps of its events in
  // all rings: they go on no more. Events of other kinds end nothing.
  std::vector<ThrottleGap> add(const RingLayout& layout, const Event& event);
  // The ring is closed at `time`; what still stood still has stood still until then.
  std::vector<ThrottleGap> close(RingIndex ring, TimeNs time);

 private:
  struct Ring {
    std::int32_t pid = 0;
    std::uint32_t cpu = 0;
    TimeNs since = 0;
    std::map<std::uint64_t, std::int32_t> stopped;  // events by stream id, and their threads
    ThrottleGap until(TimeNs time) const {
      return {pid, cpu, static_cast<std::uint64_t>(time > since ? time - since : 0)};
    }
  };

  std::map<RingIndex, Ring> rings_;  // those that stand still
};

}  // namespace tailor::capture
