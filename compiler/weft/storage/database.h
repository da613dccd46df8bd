// The tables of one directory, and what the front half needs to know of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/storage/table.h"
#include "proto/base/result.h"

namespace tailor::weft {

// Immutable after opening; any thread may read it. Plans and running queries point into it.
class Database {
 public:
  // Opens every table file (*.weft) of the directory. Errors: no such directory, no tables, a damaged file.
  static Result<std::unique_ptr<Database>> open(const std::string& directory);

  const Catalog& catalog() const { return catalog_; }
  const Table* find(std::string_view name) const;
  const std::vector<std::unique_ptr<Table>>& tables() const { return tables_; }

 private:
  std::vector<std::unique_ptr<Table>> tables_;
  MemoryCatalog catalog_;
};

// The SQL type of a column and what is known of its values.
ColumnInfo describe_column(const Column& column, std::uint64_t rows);
// The value in a row, as a constant.
Value read_value(const Column& column, std::uint64_t row);

}  // namespace tailor::weft
