// A table: named columns of equal length over one mapped file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/storage/column.h"
#include "compiler/weft/storage/mapped_file.h"

namespace tailor::weft {

// Immutable after opening; any thread may read it. Columns point into `file`.
struct Table {
  std::string name;
  std::uint64_t rows = 0;
  std::vector<Column> columns;
  std::uint64_t primary_key = 0;  // bit i: column i is part of it; 0: none declared
  MappedFile file;

  const Column* find(std::string_view column) const {
    for (const Column& c : columns) {
      if (c.name == column) return &c;
    }
    return nullptr;
  }
};

}  // namespace tailor::weft
