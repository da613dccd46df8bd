// Brings events of many rings into one order of time, behind a watermark.
//
// Rings are ordered only roughly: PEBS drains several records at once, nested interrupts write out of order,
// and rings are read one after the other. So events wait until the horizon has passed them, and leave in the
// order of (time, arrival).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/capture/batch.h"
#include "proto/base/ids.h"

namespace tailor::capture {

struct SorterCounts {
  std::uint64_t received = 0;
  std::uint64_t emitted = 0;  // in order
  std::uint64_t late = 0;     // came after the watermark had passed their time
  std::uint64_t forced = 0;   // left before the horizon had passed them, for lack of room
};

// Deterministic: the same calls give the same output. Not thread-safe.
class EventSorter {
 public:
  // Holds at most `max_pending` events; beyond that the older half leaves early, and what comes after it with
  // an earlier time is late.
  explicit EventSorter(std::size_t max_pending = std::size_t{1} << 20) : max_pending_(max_pending) {}

  // Takes over the events of `batch`, in the order of their ring. Events earlier than the watermark go to
  // `late` at once: nothing is dropped, the caller decides what a late event can still be used for.
  void add(const Batch& batch, Batch& late);

  // Appends to `in_order` every event earlier than `horizon` and moves the watermark there. A horizon before
  // the watermark does nothing.
  void advance(TimeNs horizon, Batch& in_order);

  // Every event earlier than this was emitted.
  TimeNs watermark() const { return watermark_; }
  std::size_t pending() const { return pending_.events.size(); }
  const SorterCounts& counts() const { return counts_; }

 private:
  struct Key {
    TimeNs time;
    std::uint32_t index;  // into pending_.events
  };

  void sort_keys();
  void emit(std::size_t count, Batch& in_order);

  std::size_t max_pending_;
  TimeNs watermark_ = kTimeMin;
  Batch pending_, rest_;
  std::vector<Key> keys_, scratch_;
  SorterCounts counts_;
};

}  // namespace tailor::capture
