// The functions of an ELF file: of its symbol tables, of the file its debug information was put in, and the
// entries of its procedure linkage table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/symbols/found_functions.h"
#include "proto/base/result.h"

namespace tailor::query {

// What a recording knows of a file that was mapped. Any file fits what is not said.
struct RecordedFile {
  std::int64_t mapped_ns = INT64_MAX;  // CLOCK_REALTIME
  std::string build_id = {};           // proto/base/file_id.h
  std::string machine = {};            // of the recording's host, as uname says it
  std::string read_at = {};            // where the file itself is, whatever its path leads to; "" its path
  bool identify = false;               // who reads it wants its id, for which much of it may have to be read
  // A root directory that is not ours, where its process had it by the path `within_as`: its debug file may
  // lie there. "": none.
  std::string within = {}, within_as = {};
  std::string debug_at = {};  // where its debug file is too, which has its build id; "": not known
};

// Where files of debug information are kept (GDB manual, "Separate Debug Files").
inline constexpr const char* kDebugRoot = "/usr/lib/debug";

// Reads `path`: all tables of symbols of the file, the one that it has compressed, that of the file of its
// debug information (elf_debug_files.h) also in the root of its process, Go's table of functions, and the
// entries of the linkage table. Fails for what is no readable ELF file, for one of a machine that the
// recording's host cannot run, for one that has not the id that was recorded, and where none was, for one
// whose content was written after it was mapped. The content is taken for hostile: sizes are checked against
// the file, no more than 256 MiB are read of any section, and what is kept of a file is bounded. Functions
// without a name get one by their `setters` (set_functions.h). The path profile::kVdsoPath is no file: the
// image with the recorded build id is read (daemon/os/vdso.h).
Result<ElfFunctions> read_elf_functions(const std::string& path, const RecordedFile& recorded = {},
                                        const std::string& debug_root = kDebugRoot,
                                        const std::vector<std::string>& setters = {});

}  // namespace tailor::query
