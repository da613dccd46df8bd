// Whether PEBS records have their own times on this host: tried out, because the kernel's version does not
// tell.
#pragma once

#include <functional>
#include <string>

#include "daemon/capture/select/event_spec.h"
#include "daemon/clock/drain_times.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::session {

// Samples precise cycles of the calling thread for some 20 ms, while it spins, and looks at the times.
// kUnknown where too few samples came; an error where the event is refused.
Result<clock::RecordTimes> probe_pebs_times(os::Os& os);

// Whether many PEBS records an interrupt are asked for.
bool uses_large_pebs(const capture::CaptureOptions& options);

// Turns large PEBS off in `options` if they ask for it and the records would not have their own times, or
// these could not be converted (`perf_clock_known` false). Returns why, for the profile; "" if nothing was
// changed. `probe` is called only if it matters.
std::string settle_large_pebs(capture::CaptureOptions& options, bool perf_clock_known,
                              const std::function<Result<clock::RecordTimes>()>& probe);

}  // namespace tailor::session
