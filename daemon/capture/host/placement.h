// Where the events of a process are put: one per thread and CPU, or one per CPU with a filter behind it.
//
// Per thread is exact and needs no privilege, but costs a descriptor per thread and CPU, and the kernel
// rearms a timer of a thread at every context switch: a pipe ping-pong at 1 kHz became five times slower. Per
// CPU costs a few descriptors and nothing at a switch, but needs CAP_PERFMON (or perf_event_paranoid <= 0),
// and samples of other processes are taken, too, and thrown away by the reader. What lives less than a period
// is hardly seen by events per thread. So a recording begins with events per thread, where the descriptors
// suffice, and changes over when it sees many switches or many births.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/os/os.h"
#include "proto/base/ids.h"

namespace tailor::capture {

// What the choice depends on.
struct TargetFacts {
  std::size_t events_needed = 0;  // threads x CPUs x sources
  std::uint64_t descriptors = 0;  // we may have open
};

struct PlacementChoice {
  bool per_cpu = false;
  std::string reason;  // empty for the normal case, per thread
};

// Sees threads and processes being made where each gets events of its own. A timer that is inherited begins
// with a full period (the kernel's inherit_event()), so every birth can hide so much time, of the thread or,
// as the kernel swaps the contexts of parent and child, of its parent. Where that may be more than a
// twentieth of a CPU for a while, the timers of the CPUs see what those of the threads do not.
class BirthWatch {
 public:
  // `period`: of the timer, ns.
  explicit BirthWatch(std::uint64_t period) : period_(period) {}

  // `births` so far at `now`, which do not decrease. True when it is time to change over. A pool of threads
  // that is made at once is not: there must be too many in two windows in a row.
  bool too_many(TimeNs now, std::uint64_t births);
  // Of the last window.
  double per_second() const { return per_second_; }

 private:
  std::uint64_t period_;
  TimeNs since_ = kTimeMin;
  std::uint64_t before_ = 0;
  double per_second_ = 0;
  bool once_ = false;
};

// Counts the context switches of a process between two looks at /proc. The looking thread does not wait.
class SwitchWatch {
 public:
  // The first look. A process that is gone has no switches.
  SwitchWatch(os::Os& os, pid_t pid);

  // The second look, once enough time has passed: switches a second, of all threads together. Nothing before.
  std::optional<double> look(os::Os& os);

 private:
  pid_t pid_;
  TimeNs since_;
  double before_;
};

// Pure.
PlacementChoice choose_placement(const TargetFacts& facts);
// Of one that has an event per thread: why it should have one per CPU; "" where it should not. Pure.
std::string why_per_cpu(double switches_per_second);

// A process that is gone has no threads.
TargetFacts observe_target(const os::Os& os, pid_t pid, std::size_t cpus, std::size_t sources);

}  // namespace tailor::capture
