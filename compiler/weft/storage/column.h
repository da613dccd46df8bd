// A column as the engine sees it: typed pointers into memory that the table owns.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/weft/storage/storage_kind.h"

namespace tailor::weft {

// What SQL says about the column. The numbers are part of the table file format.
enum class ColumnKind : std::uint8_t {
  kInt32 = 1,
  kInt64 = 2,
  kDecimal = 3,  // an integer scaled by 10^scale
  kDate = 4,     // days since 1970-01-01
  kChar = 5,     // char(length)
  kVarchar = 6,  // varchar(length), 0: unbounded
  kBool = 7,
};

struct ColumnType {
  ColumnKind kind = ColumnKind::kInt64;
  std::uint8_t precision = 0;  // decimals: digits in all
  std::uint8_t scale = 0;      // decimals: digits after the point
  std::uint32_t length = 0;    // texts
  bool nullable = false;
  bool operator==(const ColumnType&) const = default;
};

struct ColumnStatistics {
  std::int64_t min = 0;        // exact, over the values that are not null; 0 for texts
  std::int64_t max = 0;        // exact; texts: the longest in bytes
  std::uint64_t distinct = 0;  // estimate
  std::uint64_t nulls = 0;     // exact
};

// A view; the Table it came from owns the memory. Immutable, so any thread may read it.
struct Column {
  std::string name;
  ColumnType type;
  StorageKind storage = StorageKind::kInt64;
  ColumnStatistics statistics;
  const void* values = nullptr;  // rows elements; strings: rows + 1 offsets into `heap`
  std::uint64_t values_bytes = 0;
  const char* heap = nullptr;  // strings; 16 readable bytes follow the last text
  std::uint64_t heap_bytes = 0;
  const std::uint8_t* nulls = nullptr;  // 1 = null, one byte a row; nullptr if no row is
};

}  // namespace tailor::weft
