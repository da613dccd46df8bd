// The small files of /proc, as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::registration {

// At most 16 KiB of it. Fails, with errno, if it is not there (any more).
Result<std::string> read_small_file(const std::string& path);

// Field 22 of the text of /proc/PID/stat. The process's name, which may hold anything, is skipped.
Result<std::uint64_t> parse_start_time(std::string_view stat);

// The thread's ids from the outermost pid namespace to its own, of the text of /proc/PID/task/TID/status.
// `outer` and `inner` are equal for a thread of our own namespace.
struct NamespaceIds {
  std::int32_t outer = 0;
  std::int32_t inner = 0;
};
Result<NamespaceIds> parse_namespace_ids(std::string_view status);

// The effective user, of the text of /proc/PID/status. The owner of the directory is another one where a
// process may not be dumped.
Result<std::uint32_t> parse_effective_uid(std::string_view status);

}  // namespace tailor::registration
