// What the kernel says of code that it loads and unloads while it runs, BPF programs above all: so that a
// sample in it has the name of what was there at its time, also when it is gone.
#pragma once

#include <memory>

#include "daemon/capture/host/recording.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// With CaptureOptions::kernel_code.
CaptureOptions kernel_watch_options();

// A recording of no process, on all CPUs: its rings have PERF_RECORD_KSYMBOL records and no samples. The
// programs that are there already are told by the first of them, from /proc/kallsyms. Where it hides their
// addresses, those are unknown. Fails where events of a CPU are not permitted.
Result<std::unique_ptr<Recording>> open_kernel_watch(os::Os& os, const CaptureOptions& options);

}  // namespace tailor::capture
