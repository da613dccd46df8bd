// The call frame information of an ELF file, found through its program headers, or by the names of its
// sections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/unwind/cfi_table.h"
#include "proto/base/result.h"

namespace tailor::unwind {

struct ElfCfi {
  struct Segment {
    std::uint64_t offset, address, size;  // in the file
    bool executable;
  };
  CfiTable table;
  std::vector<Segment> segments;

  // Of memory.
  std::size_t bytes() const { return sizeof(ElfCfi) + table.bytes() + segments.capacity() * sizeof(Segment); }
  // What to take from an address in memory to get the file's, where the byte at `file_offset` is mapped
  // executable at `address`.
  std::optional<std::uint64_t> bias(std::uint64_t address, std::uint64_t file_offset) const;
};

// Reads `path`, which anybody may have written and may change meanwhile: nothing of it is mapped. Fails for
// what is no 64-bit ELF file of this machine with an .eh_frame or a .debug_frame.
Result<ElfCfi> read_elf_cfi(const std::string& path);

}  // namespace tailor::unwind
