// Where the events of a process are put: one per thread and CPU, or one per CPU with a filter behind it.
//
// Per thread is exact and needs no privilege, but costs a descriptor per thread and CPU, and the kernel
// rearms a timer of a thread at every context switch: a pipe ping-pong at 1 kHz became five times slower. Per
// CPU costs a few descriptors and nothing at a switch, but needs CAP_PERFMON (or perf_event_paranoid <= 0),
// and samples of other processes are taken, too, and thrown away by the reader.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/os/os.h"

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

// Pure.
PlacementChoice choose_placement(const TargetFacts& facts);

// Looks at the process twice, a few milliseconds apart. A process that is gone has no threads and no
// switches.
TargetFacts observe_target(const os::Os& os, pid_t pid, std::size_t cpus, std::size_t sources);

}  // namespace tailor::capture
