// What the kernel says of code that it loads and unloads while it runs, BPF programs above all: so that a
// sample in it has the name of what was there at its time, also when it is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/capture/decode/kernel_symbols.h"
#include "daemon/capture/host/recording.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// With CaptureOptions::kernel_code.
CaptureOptions kernel_watch_options();

// BPF programs that are there now, and where their code ends.
struct LoadedPrograms {
  std::vector<KernelFunction> functions;
  bool complete = true;  // else /proc/kallsyms may know of more code that belongs to programs
};
// Nothing: the kernel does not say. Called on the thread that reads rings.
using AskForPrograms = std::function<std::optional<LoadedPrograms>(const os::Os&)>;

// A recording of no process, on all CPUs: its rings have PERF_RECORD_KSYMBOL records and no samples. The
// programs that are there already are told by the first of them: as `ask` says, and else from /proc/kallsyms,
// which takes far longer to read, and says no lengths. Where it hides their addresses, those are unknown.
// Fails where events of a CPU are not permitted.
Result<std::unique_ptr<Recording>> open_kernel_watch(os::Os& os, const CaptureOptions& options,
                                                     AskForPrograms ask = {});

}  // namespace tailor::capture
