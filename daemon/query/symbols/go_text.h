// Where the code of a Go program begins: the table of its functions (.gopclntab) counts from there, and does
// not always say it itself.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/query/symbols/elf_file.h"

namespace tailor::query {

// What the head of the table says (Go's runtime.pcHeader).
struct GoTableHead {
  std::uint64_t address = 0;              // of the table
  unsigned word_size = 8;                 // bytes of an address: 4 or 8
  std::uint64_t functions = 0;            // how many
  std::array<std::uint64_t, 5> parts{};   // offsets: names, units, files, counters, functions
  std::uint32_t first_code = 0, end = 0;  // of the code of all functions, from where code begins
};

// 0: nothing in the file proves it. Without a proof each name may be a neighbour's: what C brings lies before
// Go's code, in a section with it. It is proven by the head itself, by the symbol runtime.text, or by the
// runtime's description of the module (runtime.moduledata), which names every part of the table.
std::uint64_t go_text(const ElfFile& file, const GoTableHead& head);

}  // namespace tailor::query
