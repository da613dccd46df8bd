// Files that anybody wrote, read for the names of their functions.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/query/symbols/elf_functions.h"
#include "daemon/query/symbols/readable_name.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("fuzz", 0);
  if (file < 0 || ::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  const auto read =
      tailor::query::read_elf_functions("/proc/self/fd/" + std::to_string(file), {}, "/nonexistent", {"*"});
  if (!read.ok()) return 0;
  std::uint64_t before = 0;
  for (const auto& function : read->functions) {
    if (function.begin < before) std::abort();
    before = function.begin;
    (void)tailor::query::readable_name(function.name);
  }
  return 0;
}
