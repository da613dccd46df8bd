// What a process was before anybody sampled it. `proc`: where /proc is mounted (os::Os::proc()). Any thread.
// To read the build ids of its files may take as long as who serves these files likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/pipeline/input.h"
#include "daemon/process/limits.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::session {

// One more than a profile is told of a process (process/limits.h), so that it says that there were more.
inline constexpr std::size_t kMostMappings = process::Limits{}.mappings + 1;
inline constexpr std::size_t kMostMemory = process::Limits{}.memory_areas + 1;

// The name of a process; "" if it has none any more.
std::string comm_of(const std::filesystem::path& proc, std::int32_t pid);

// The cgroup of a process, as a path in the unified hierarchy; "" where it has none any more.
std::string cgroup_of(const std::filesystem::path& proc, std::int32_t pid);

// All memory of a process; empty where it is gone. No more than kMostMemory areas.
std::vector<pipeline::MemoryMapping> memory_of(const std::filesystem::path& proc, std::int32_t pid);

// A process as it is now, with what it had before anybody sampled it.
pipeline::KnownProcess known_process(const std::filesystem::path& proc, ProcessId process);

// The thread of the agent in a process; 0: it has none.
std::int32_t agent_thread_of(const std::filesystem::path& proc, std::int32_t pid);

// The executable files and memory that a process has mapped now; none if it is gone or may not be looked at.
// No more than kMostMappings. The build ids of the first 1,024 files are read; those of others are "". Memory
// without a name has the path pipeline::kNamelessCode.
std::vector<profile::MappingRecord> mappings_of(const std::filesystem::path& proc, ProcessId process);

}  // namespace tailor::session
