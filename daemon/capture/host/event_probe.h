// Whether this host opens the events that were selected, found by opening them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/capture/select/event_selection.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// Opens each event on the calling thread, disabled, as a recording of that thread would, and closes it again:
// what has to be given up for it (samples in kernel mode), or "". The error names the blocker and the remedy.
Result<std::string> open_on_ourselves(os::Os& os, std::span<const EventSpec> events);

// select_events(), where "auto" falls back to cpu-clock if this host does not let us open the PEBS or IBS it
// has (no privilege, all counters taken); a reason says so.
Result<Selection> select_usable_events(os::Os& os, std::vector<std::string> names, std::uint64_t hz,
                                       const HostPmu& pmu);

}  // namespace tailor::capture
