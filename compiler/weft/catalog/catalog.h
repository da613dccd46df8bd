// What the front half knows of the tables: names, types, keys and statistics. Filled by storage when a table
// is loaded, immutable from then on; any number of threads may read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/types/type.h"
#include "compiler/weft/types/value.h"

namespace tailor::weft {

struct ColumnInfo {
  std::string name;  // lower case
  Type type;
  // Exact over all rows that are not null: generated code relies on it. Integers, decimals and dates only;
  // a column without such rows has any range.
  Range range;
  double distinct = 1;           // estimated number of distinct values
  double null_share = 0;         // of the rows
  std::uint32_t max_length = 0;  // strings: bytes of the longest
};

struct TableInfo {
  std::string name;  // lower case
  std::vector<ColumnInfo> columns;
  std::uint64_t rows = 0;  // exact
  // Sets of column indexes no two rows agree in. Trusted, so storage must have checked or declared them.
  std::vector<std::vector<std::uint32_t>> unique_keys;
  // A uniform random sample: sample[i][c] is column c of the i-th sampled row. Some hundred rows; may be
  // empty. Selectivities of predicates are counted on it.
  std::vector<std::vector<Value>> sample;

  std::optional<std::uint32_t> column(std::string_view column_name) const;
};

class Catalog {
 public:
  virtual ~Catalog() = default;
  // The table of that lower-case name or null. The pointer lives as long as the catalog.
  virtual const TableInfo* find(std::string_view name) const = 0;
};

// A catalog that owns descriptions handed to it.
class MemoryCatalog final : public Catalog {
 public:
  // Replaces a table of the same name; pointers to the old one die.
  void add(TableInfo table);
  const TableInfo* find(std::string_view name) const override;

 private:
  std::vector<std::unique_ptr<TableInfo>> tables_;
};

}  // namespace tailor::weft
