// Brings events of many rings into one order of time, behind a watermark.
//
// Rings are ordered only roughly: PEBS drains several records at once, nested interrupts write out of order,
// and rings are read one after the other. So events wait until the horizon has passed them, and leave in the
// order of (time, arrival). They stay in the batch they came in; only keys are moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/intake.h"
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

  // Takes over what came in, in the order of its ring; `intake` is then empty, with memory for the next one.
  // Events earlier than the watermark are copied to `late`: nothing is dropped, the caller decides what a
  // late event can still be used for.
  void add(Intake&& intake, Batch& late);
  void add(Batch&& batch, Batch& late) {
    add(Intake::of(std::move(batch)), late);
    batch.clear();  // NOLINT(bugprone-use-after-move): says what state it is left in
  }

  // Calls use(batch, event) for every event earlier than `horizon`, in order, and moves the watermark there.
  // The event may be changed and is gone after the call; `use` must not call the sorter. A horizon before
  // the watermark does nothing. A `use` that takes a PackedSample too gets those instead of their events.
  template <typename Use>
  void advance(TimeNs horizon, Use use) {
    const std::size_t end = pass(horizon);
    for (; first_ < end; ++first_) {
      if (end - first_ > kAhead) {
        const Key& soon = keys_[first_ + kAhead];
        const Batch& batch = held_[soon.batch].batch;
        __builtin_prefetch(batch.words.data() + (soon.at & ~Arrival::kPacked));
      }
      const Key& key = keys_[first_];
      Held& held = held_[key.batch];
      const Arrival arrival{key.time, key.at};
      if (arrival.packed()) {
        const PackedSample packed = Intake::packed(held.batch, *held.formats, arrival);
        if constexpr (std::is_invocable_v<Use&, const Batch&, const PackedSample&>) {
          use(std::as_const(held.batch), packed);
        } else {
          Event event = packed.event();
          use(std::as_const(held.batch), event);
        }
      } else {
        use(std::as_const(held.batch), held.batch.events[arrival.at]);
      }
      if (--held.left == 0) release(key.batch);
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
  // Of memory, that batches hold of which an event is still to leave. An event of a large batch holds all of
  // it until the batch is moved together with others.
  std::size_t held_bytes() const { return held_bytes_; }
  const SorterCounts& counts() const { return counts_; }

 private:
  struct Key {
    TimeNs time;
    std::uint32_t batch;  // into held_
    std::uint32_t at;     // as Arrival::at
  };
  struct Held {
    Batch batch;
    std::shared_ptr<const FixedFormats> formats;
    std::size_t events = 0;
    std::size_t left = 0;   // of these
    std::size_t bytes = 0;  // of memory

    Event event(const Arrival& arrival) const {
      return arrival.packed() ? Intake::packed(batch, *formats, arrival).event() : batch.events[arrival.at];
    }
  };

  // How many samples before its own a packed one is fetched into the cache.
  static constexpr std::size_t kAhead = 12;

  static bool earlier(const Key& a, const Key& b) { return a.time < b.time; }
  static void sort_runs(std::vector<Key>& keys, std::vector<Key>& scratch);
  std::uint32_t hold(Intake& intake);
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
  std::size_t held_bytes_ = 0;
  std::vector<Key> keys_;  // sorted from first_ on
  std::size_t first_ = 0;
  std::vector<Key> fresh_, scratch_;  // fresh_: not among keys_ yet
  SorterCounts counts_;
};

}  // namespace tailor::capture
