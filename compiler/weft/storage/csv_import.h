// A user's CSV file as a table, its column types inferred from all of its rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/weft/storage/table_file.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct CsvOptions {
  std::string path;
  std::string table;      // empty: the file's name without its ending
  std::string directory;  // where the table file goes; made if needed
  char delimiter = ',';
  bool header = true;
  unsigned threads = 1;
};

// The narrowest type that takes every field of a column: integer, decimal (at most 18 digits), date, boolean
// ("true", "false"), else text. Empty fields are nulls. Column names become lower-case letters, digits and
// underscores; without a header they are c1, c2 ... Errors: rows of different length, two columns of one
// name.
Result<TableDefinition> infer_table(std::string_view text, const std::string& name,
                                    const DelimitedFormat& format);

// Reads, infers, stores.
Status import_csv(const CsvOptions& options);

}  // namespace tailor::weft
