// Brings events of many rings into one order of time, behind a watermark.
//
// Rings are ordered only roughly: PEBS drains several records at once, nested interrupts write out of order,
// and rings are read one after the other. So events wait until the horizon has passed them, and leave in the
// order of (time, arrival). They stay in the batch they came in; only keys are moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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

  // Takes over the events of `batch`, in the order of their ring; `batch` is then empty, with memory for the
  // next one. Events earlier than the watermark are copied to `late`: nothing is dropped, the caller decides
  // what a late event can still be used for.
  void add(Batch&& batch, Batch& late);

  // Calls use(batch, event) for every event earlier than `horizon`, in order, and moves the watermark there.
  // The event may be changed and is gone after the call; `use` must not call the sorter. A horizon before
  // the watermark does nothing.
  template <typename Use>
  void advance(TimeNs horizon, Use use) {
    const std::size_t end = pass(horizon);
    for (; first_ < end; ++first_) {
      Held& held = held_[keys_[first_].batch];
      use(std::as_const(held.batch), held.batch.events[keys_[first_].event]);
      if (--held.left == 0) release(keys_[first_].batch);
    }
    tidy();
  }
  // Appends them to `in_order`.
  void advance(TimeNs horizon, Batch& in_order) {
    advance(horizon, [&](const Batch& batch, const Event& event) { in_order.append(batch, event); });
  }

  // Every event earlier than this was emitted.
  TimeNs watermark() const { return watermark_; }
  std::size_t pending() const { return keys_.size() - first_ + fresh_.size(); }
  const SorterCounts& counts() const { return counts_; }

 private:
  struct Key {
    TimeNs time;
    std::uint32_t batch;  // into held_
    std::uint32_t event;
  };
  struct Held {
    Batch batch;
    std::size_t left = 0;  // of its events
  };

  static bool earlier(const Key& a, const Key& b) { return a.time < b.time; }
  static void sort_runs(std::vector<Key>& keys, std::vector<Key>& scratch);
  std::uint32_t hold(Batch&& batch);
  void release(std::uint32_t batch);
  void merge_fresh();
  std::size_t pass(TimeNs horizon);
  void tidy();
  void compact();

  std::size_t max_pending_;
  TimeNs watermark_ = kTimeMin;
  std::vector<Held> held_;
  std::vector<std::uint32_t> free_;  // of held_
  std::size_t held_events_ = 0;      // also those that have left
  std::vector<Key> keys_;            // sorted from first_ on
  std::size_t first_ = 0;
  std::vector<Key> fresh_, scratch_;  // fresh_: not among keys_ yet
  SorterCounts counts_;
};

}  // namespace tailor::capture
