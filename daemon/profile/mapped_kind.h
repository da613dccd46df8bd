// What memory with code was mapped from, by the kernel's name for it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tailor::profile {

enum class MappedKind : std::uint8_t {
  kUnknown,    // nothing is known of it
  kNothing,    // no file's, as was said
  kAnonymous,  // memory of no file
  kMemory,     // a file that exists to hold code in memory
  kFile,
};

// Of the path of a mapping record: "" says that no file is there.
MappedKind mapped_kind(std::string_view path);

// The code that the kernel itself puts into each process (vdso(7)).
inline constexpr std::string_view kVdsoPath = "[vdso]";

// Whether functions in code that is mapped by that path can have names: it is of a file, or the kernel's own
// and known by its id.
constexpr bool can_have_names(std::string_view path, std::string_view id) {
  return path.starts_with('/') || (path == kVdsoPath && !id.empty());
}

// Memory that the kernel shows by the path of a file which no disk has: shared by processes, System V's, of
// huge pages, or a file in memory (memfd_create(2)). Compilers put code there. A program may lie in the last
// one, too.
constexpr bool is_memory_by_path(std::string_view path) {
  return path.starts_with("/dev/zero") || path.starts_with("/memfd:") || path.starts_with("/anon_hugepage") ||
         path.starts_with("/SYSV");
}

// Whether it ends generated code that was there before. Anonymous memory, and files made for code, do not:
// the kernel merges anonymous neighbours and reports the whole range again, and a change of protection
// reports single pages.
constexpr bool ends_code(MappedKind kind) {
  return kind == MappedKind::kFile || kind == MappedKind::kNothing;
}

}  // namespace tailor::profile
