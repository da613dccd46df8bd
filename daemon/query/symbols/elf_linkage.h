// The entries of a file's linkage tables: pieces of code that jump to functions of other files.
#pragma once

#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/elf_symbols.h"

namespace tailor::query {

// Names each entry by the function that its jump leads to, as "memcpy@plt". Linkers differ in where entries
// are and how long: what counts is which slot of the global offset table an entry reads, and which symbol the
// relocation of that slot has. An entry that is not understood gets no name. Code of x86 only.
void add_linkage(const ElfFile& file, SymbolSet& to);

}  // namespace tailor::query
