#include "daemon/profile/mapped_kind.h"

namespace tailor::profile {

// Of a deleted file there is nothing to read: programs that write their code into memory files delete them
// first.
MappedKind mapped_kind(std::string_view path) {
  if (path.empty()) return MappedKind::kNothing;
  if (path.starts_with("//") || path.starts_with("[anon")) return MappedKind::kAnonymous;
  if (path.starts_with("[vdso") || path.starts_with("[vsyscall")) return MappedKind::kFile;
  const bool of_memory = !path.starts_with('/') || is_memory_by_path(path) || path.starts_with("/dev/shm/") ||
                         path.ends_with(" (deleted)");
  return of_memory ? MappedKind::kMemory : MappedKind::kFile;
}

}  // namespace tailor::profile
