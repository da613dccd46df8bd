// The table of functions that Go puts into each program for its own use: it stays where symbols are stripped.
#pragma once

#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/elf_symbols.h"

namespace tailor::query {

// Adds the functions of .gopclntab (Go's debug/gosym and cmd/link, the formats of Go 1.2, 1.16, 1.18 and 1.20
// and those between and behind them). Nothing where there is none, or one of another format, or nothing says
// where the code begins.
void add_go_functions(const ElfFile& file, SymbolSet& to);

}  // namespace tailor::query
