// What a profile says about the machine it was made on.
#pragma once

#include <string>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"
#include "daemon/profile/sink.h"
#include "proto/base/result.h"

namespace tailor::session {

// Of this program: that of the project in CMakeLists.txt.
extern const char* const kVersion;

// Host, kernel, CPU, version and wall clock; what cannot be found out stays empty.
profile::RecordingInfo host_info(const os::Os& os);

// The name of a process; "" if it has none any more.
std::string comm_of(const os::Os& os, std::int32_t pid);

// The cgroup of a process, as a path in the unified hierarchy; "" where it has none any more.
std::string cgroup_of(const os::Os& os, std::int32_t pid);

// All memory of a process; empty where it is gone.
std::vector<pipeline::MemoryMapping> memory_of(const os::Os& os, std::int32_t pid);

// A process as it is now, with what it had before anybody sampled it.
pipeline::KnownProcess known_process(const os::Os& os, ProcessId process);

// The executable files and memory that a process has mapped now; none if it is gone or may not be looked at.
// The build ids of the first 1,024 files are read; those of others are "". Memory without a name has the path
// pipeline::kNamelessCode.
std::vector<profile::MappingRecord> mappings_of(const os::Os& os, ProcessId process);

}  // namespace tailor::session
