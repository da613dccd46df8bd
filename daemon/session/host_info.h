// What a profile says about the machine it was made on.
#pragma once

#include <string>

#include "daemon/os/os.h"
#include "daemon/store/sink.h"
#include "proto/base/result.h"

namespace tailor::session {

inline constexpr const char* kVersion = "0.1.0";

// Host, kernel, CPU, version and wall clock; what cannot be found out stays empty.
store::RecordingInfo host_info(const os::Os& os);

// The name of a process; "" if it has none any more.
std::string comm_of(const os::Os& os, std::int32_t pid);

// The cgroup of a process, as a path in the unified hierarchy; "" where it has none any more.
std::string cgroup_of(const os::Os& os, std::int32_t pid);

// {pid, start time} of a process that exists.
Result<ProcessId> identify(const os::Os& os, std::int32_t pid);

}  // namespace tailor::session
