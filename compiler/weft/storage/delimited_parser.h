// Delimited text (TPC-H .tbl, CSV) to column chunks, in parallel.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/storage/column.h"
#include "compiler/weft/storage/column_chunk.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct ColumnDefinition {
  std::string name;
  ColumnType type;
};

struct DelimitedFormat {
  char delimiter = '|';
  bool trailing_delimiter = true;  // as TPC-H's generator writes: one after the last field as well
  bool header = false;             // the first line names the columns
  bool quotes = false;             // fields may be quoted by '"', which doubles inside; lines may then span
};

// The rows of one piece of the text, a chunk per column.
using RowGroup = std::vector<ColumnChunk>;

// Parses `text` into row groups that follow one another in the order of the text. `progress` (may be empty)
// gets the bytes done since its last call, from any thread. An error names `source`, the line and the column;
// nothing is returned then. Fields that are empty are null where the column allows it, else an error unless
// the column holds text.
Result<std::vector<RowGroup>> parse_delimited(std::string_view text, const std::string& source,
                                              std::span<const ColumnDefinition> columns,
                                              const DelimitedFormat& format, unsigned threads,
                                              const std::function<void(std::size_t)>& progress);

// Splits one record starting at `position` (which it advances past the record's end) into fields. `storage`
// keeps the unquoted texts. False at the end of the text.
bool next_record(std::string_view text, std::size_t& position, const DelimitedFormat& format,
                 std::vector<std::string_view>& fields, std::vector<std::string>& storage);

}  // namespace tailor::weft
