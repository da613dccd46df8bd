// A table in one file of column arrays that is mapped as it is.
//
// Layout, little endian, version 1; arrays start at multiples of 64:
//   header (TableFileHeader), column descriptors (TableFileColumn each), names, arrays.
// The header and descriptors carry a checksum; the arrays are only checked for lying inside the file, which
// is why the directory must be as trustworthy as the user who runs the engine. A file of another version is
// refused, and made anew from its source.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/weft/storage/delimited_parser.h"
#include "compiler/weft/storage/table.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct TableDefinition {
  std::string name;
  std::vector<ColumnDefinition> columns;
  std::uint64_t primary_key = 0;  // bit i: column i is part of it
};

// Writes the row groups as a table file at `path`, by way of a temporary file beside it, so that a file that
// exists is whole. Errors: the operating system's; nothing is left behind then.
Status write_table_file(const std::string& path, const TableDefinition& definition,
                        std::span<const RowGroup> groups, unsigned threads);

// Maps it. Errors: not such a file, damaged, another version.
Result<Table> open_table_file(const std::string& path);

}  // namespace tailor::weft
