// Where a process keeps its jitdump: it maps the file executable, only so that perf sees it, and names it
// jit-PID.dump (Linux, tools/perf/util/jitdump.c, jit_detect).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tailor::foreign {

struct MappedDump {
  std::string range;  // as /proc/PID/maps and the names in /proc/PID/map_files have it
  std::string path;   // as the process sees it
};

// The first executable mapping of a file called jit-PID.dump in the text of /proc/PID/maps; `pid` as the
// process sees itself. Lines that make no sense, and files that were deleted, are passed over.
std::optional<MappedDump> find_jitdump(std::string_view maps, std::int32_t pid);

}  // namespace tailor::foreign
