// What a profile keeps of a thread's activity log: on whose behalf the thread worked, without what was too
// short to be seen. An engine may mark every morsel, a hundred thousand times a second; samples have the
// state of their own moment, and a thread's lane is drawn from its spans alone.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/process/thread_timeline.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// States that last kActivityResolution or longer are kept with the times of their marks. Shorter ones that
// follow each other are kept as one state, the one that had most of the time, as soon as they are that long
// together. They are given out as marks that nest: EXECUTION, in it PIPELINE, in it COMPONENT; a morsel is a
// time in a pipeline without a component. One thread.
class KeptActivity {
 public:
  static constexpr TimeNs kActivityResolution = 1'000'000;

  KeptActivity(ProcessId process, std::int32_t tid) : process_(process), tid_(tid) {}

  // The thread works in `context` from `time` on. Times grow from call to call; an earlier one counts as the
  // last.
  void change(const process::ThreadContext& context, TimeNs time, std::vector<profile::ActivityRecord>& out);
  // Nothing has changed up to `time`.
  void advance(TimeNs time, std::vector<profile::ActivityRecord>& out);
  // The state at `time` counts, however short it has been: a mark follows that is kept as it is, or nothing
  // more.
  void settle(TimeNs time, std::vector<profile::ActivityRecord>& out);

  // Nothing is open, and nothing waits.
  bool idle() const { return told_ == State{} && state_ == State{} && short_.empty(); }

 private:
  struct State {
    ExecutionHandle execution = 0;
    PlanId plan = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t component = 0;
    bool operator==(const State&) const = default;
  };
  struct Short {
    State state;
    TimeNs length;
  };
  // The number of different short states in a row that are kept one by one.
  static constexpr std::size_t kShort = 16;

  void end_state(TimeNs time, std::vector<profile::ActivityRecord>& out);
  void tell_short(std::vector<profile::ActivityRecord>& out);
  void tell(const State& state, TimeNs time, std::vector<profile::ActivityRecord>& out);
  void mark(tailor_log_kind kind, TimeNs time, std::uint32_t id, std::uint64_t a, std::uint64_t b,
            std::vector<profile::ActivityRecord>& out) const;

  ProcessId process_;
  std::int32_t tid_;
  State told_;   // by the marks that were given out
  State state_;  // of the thread
  TimeNs since_ = kTimeMin;
  std::vector<Short> short_;  // those before it that are not told
  TimeNs short_since_ = 0;
};

}  // namespace tailor::pipeline
