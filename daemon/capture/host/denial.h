// When the kernel says no: who says it, and what the user can do about it, in one sentence.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>

#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// Explains a failed perf_event_open by what the host says of itself: perf_event_paranoid, our capabilities
// and seccomp mode, the target's owner, limits. `pid` is the target, -1 for CPU-wide. Keeps the errno in
// `code`.
Error explain_open(const os::Os& os, const Error& failure, const perf_event_attr& attr, pid_t pid);

// Explains a failed mmap of a ring of `bytes`.
Error explain_map(const os::Os& os, const Error& failure, std::size_t bytes);

}  // namespace tailor::capture
