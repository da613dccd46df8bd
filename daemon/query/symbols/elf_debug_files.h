// Where a file keeps the symbols that it does not have itself.
#pragma once

#include <optional>
#include <string>

#include "daemon/query/symbols/elf_file.h"

namespace tailor::query {

// The table of symbols that the file carries compressed (.gnu_debugdata; GDB manual, "MiniDebugInfo"); none
// where it has none, or one that cannot be unpacked, or only to more than 256 MiB.
std::optional<ElfFile> unpack_mini_debug(const ElfFile& file);

// The file that has what was stripped from `file`, which lies at `path` (GDB manual, "Separate Debug Files"):
// the one under `root` that has its build id; the one that its debug link names, beside it, in .debug/, or
// under `root`, if its checksum fits; PATH.debug, if its build id fits. All of that is looked for below the
// folder `within`: of a process that has another root directory than we.
std::optional<ElfFile> find_debug_file(const std::string& path, const ElfFile& file, const std::string& root,
                                       const std::string& within = {});

}  // namespace tailor::query
