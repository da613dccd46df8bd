// What one thread worked on, over time, as its activity log tells.
#pragma once

#include <tailor/thread_area.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/process/limits.h"
#include "proto/base/ids.h"

namespace tailor::process {

// The answer to: on whose behalf did the thread run?
struct ThreadContext {
  ExecutionHandle execution = 0;  // 0: outside any
  PlanId plan = 0;                // of the execution
  std::uint32_t pipeline = 0;     // 0: outside any
  std::uint32_t component = 0;    // innermost engine component, 0: none
  // Marks were lost that might have said more: 0 above then means that it is not known.
  bool execution_lost = false;
  bool component_lost = false;
  bool operator==(const ThreadContext&) const = default;
};

// Begin and end marks nest: an end closes the innermost open mark that it fits, with everything opened since.
// Times come from outside: one that runs backward counts as that of the record before. One thread.
class ThreadTimeline {
 public:
  explicit ThreadTimeline(const Limits& limits) : limits_(limits) {}

  // Records in the order of the log. Kinds that are no marks of nesting are ignored.
  void add(const tailor_log_record& record, TimeNs time);
  // From `time` on the thread does nothing: it ended, or its log has a hole.
  // Records that were added with a later time stay. Earlier ones may follow: a message can be read before the
  // marks that the thread wrote until then.
  void reset(TimeNs time);
  // Another thread has its id. What was open ends; a thread of which nothing is open may have marked its work
  // before it was told of.
  void restart(TimeNs time);
  // A record of another kind was read: the log is whole up to `time`.
  void seen(TimeNs time);
  // Marks that came after the last record are lost. From that record on nothing is known of the thread but
  // what the next ones say themselves. What an execution, once one ends, was begun in counts as nothing.
  void lose();

  // Valid back to the last trim. No allocation; O(log changes), O(1) for times that grow from call to call.
  ThreadContext at(TimeNs time) const;
  // The time of the first change after `time`; kTimeMax: none is known so far. As cheap as at().
  TimeNs change_after(TimeNs time) const;

  // After the last record, and its time; kTimeMin: there was none.
  ThreadContext now() const { return open_.empty() ? outside_ : open_.back().context; }
  TimeNs last() const { return last_; }

  // Forgets what was before `watermark`, but keeps what then held.
  void trim(TimeNs watermark);

  std::size_t changes() const { return changes_.size() - first_; }
  bool idle() const {
    return changes() <= 1 && open_.empty() && outside_ == ThreadContext{} && ends_ == kTimeMax;
  }
  // Ends that fitted no open mark, and begins that nested too deep.
  std::uint64_t unmatched() const { return unmatched_; }
  // Changes that were forgotten before the watermark had passed them, for lack of room.
  std::uint64_t forgotten_early() const { return forgotten_early_; }

 private:
  struct Open {
    tailor_log_kind begin;
    std::uint64_t id;
    ThreadContext context;  // from here on
  };
  struct Change {
    TimeNs time;
    ThreadContext context;  // from here on
  };

  void begin(tailor_log_kind kind, std::uint64_t id, const ThreadContext& context);
  void end(tailor_log_kind kind, std::uint64_t id);
  void end_all();
  void note(TimeNs time);

  Limits limits_;
  ThreadContext outside_;   // what holds where no mark is open
  TimeNs last_ = kTimeMin;  // of the last record
  TimeNs ends_ = kTimeMax;  // of the reset that records may still come before
  std::vector<Open> open_;
  std::vector<Change> changes_;  // by time; those before first_ are forgotten
  std::size_t first_ = 0;
  mutable std::atomic<std::size_t> found_ = 0;  // where at() ended last: a guess, checked before use
  std::uint64_t unmatched_ = 0;
  std::uint64_t forgotten_early_ = 0;
};

}  // namespace tailor::process
