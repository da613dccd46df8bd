// The functions of an ELF file: of its symbol tables, of the file its debug information was put in, and the
// entries of its procedure linkage table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/base/result.h"

namespace tailor::query {

struct ElfFunction {
  std::uint64_t begin = 0, end = 0;  // addresses as the file has them
  std::string name;                  // as the linker has it
};

struct ElfFunctions {
  struct Segment {
    std::uint64_t offset, size, address;  // of a loaded part: in the file, its bytes there, in memory
  };
  std::vector<Segment> segments;
  std::vector<ElfFunction> functions;  // by begin, one for each begin
  std::string build_id;                // in hexadecimal, "" none
};

// Where files of debug information are kept (GDB manual, "Separate Debug Files").
inline constexpr const char* kDebugRoot = "/usr/lib/debug";

// Reads `path`. Without a symbol table of its own, that of the file under `debug_root` which has its build
// id, or which its debug link names and whose checksum fits. Fails for what is no readable 64-bit ELF file,
// and for one that was changed, or put in its place, after `mapped_ns` (CLOCK_REALTIME), or whose build id is
// not `build_id` ("": any). The content is taken for hostile: sizes are checked against the file, no more
// than 256 MiB are read of any section, and what is kept of a file is bounded. Functions without a name get
// one by their `setters` (set_functions.h).
Result<ElfFunctions> read_elf_functions(const std::string& path, std::int64_t mapped_ns = INT64_MAX,
                                        const std::string& build_id = "",
                                        const std::string& debug_root = kDebugRoot,
                                        const std::vector<std::string>& setters = {});

// A linker's name for people: demangled, without parameters and return type, as perf shows it.
std::string readable_name(const std::string& linker_name);

}  // namespace tailor::query
