// Where a process keeps its jitdumps: it maps the file executable, only so that perf sees it, and names it
// jit-PID.dump (Linux, tools/perf/util/jitdump.c, jit_detect).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::foreign {

// A process may map as many as it likes; more than these are not read of any.
inline constexpr std::size_t kMostDumps = 8;

struct MappedDump {
  std::string range;  // as /proc/PID/maps and the names in /proc/PID/map_files have it
  std::string path;   // as maps has it
};

// The first executable mapping of each file called jit-PID.dump in the text of /proc/PID/maps, of no more
// than kMostDumps + 1 files; `pid` as the process sees itself. Lines that make no sense, and files that were
// deleted, are passed over.
std::vector<MappedDump> find_jitdumps(std::string_view maps, std::int32_t pid);

}  // namespace tailor::foreign
