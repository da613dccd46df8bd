// Where the events of a process are put: one per thread and CPU, or one per CPU with a filter behind it.
//
// Per thread is exact and needs no privilege, but costs a descriptor per thread and CPU, and the kernel
// rearms a timer of a thread at every context switch: a pipe ping-pong at 1 kHz became five times slower. Per
// CPU costs a few descriptors and nothing at a switch, but needs CAP_PERFMON (or perf_event_paranoid <= 0),
// and samples of other processes are taken, too, and thrown away by the reader. What lives less than a period
// is hardly seen by events per thread: a recording begins with them, and changes over when it sees births.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/os/os.h"
#include "proto/base/ids.h"

namespace tailor::capture {

// What the choice depends on.
struct TargetFacts {
  std::size_t events_needed = 0;   // threads x CPUs x sources
  std::uint64_t descriptors = 0;   // we may have open
  double switches_per_second = 0;  // of all threads together
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

// Pure.
PlacementChoice choose_placement(const TargetFacts& facts);

// Looks at the process twice, a few milliseconds apart. A process that is gone has no threads and no
// switches.
TargetFacts observe_target(const os::Os& os, pid_t pid, std::size_t cpus, std::size_t sources);

}  // namespace tailor::capture
