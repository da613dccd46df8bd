// One column of a Parquet file: cells in memory, then bytes of pages
// (https://parquet.apache.org/docs/file-format/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/base/result.h"

struct ZSTD_CCtx_s;

namespace tailor::formats {

enum class ParquetType : std::uint8_t {
  kBoolean,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kDouble,
  kText,
  kWallTime
};

struct ParquetField {
  std::string name;
  ParquetType type =
      ParquetType::kInt64;  // kWallTime: microseconds since 1970, UTC; Spark reads no finer ones
  bool optional = false;    // it may have cells without a value
};

// Physical types and encodings as parquet.thrift numbers them.
enum class ParquetPhysical : std::int32_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kDouble = 5,
  kByteArray = 6
};
enum class ParquetEncoding : std::int32_t { kPlain = 0, kRle = 3, kRleDictionary = 8 };
ParquetPhysical physical_type(ParquetType type);

// What the file's metadata say of a column in a row group. Offsets count from the begin of its bytes.
struct ParquetChunk {
  std::int64_t values = 0, nulls = 0;
  std::int64_t data_page = 0;
  bool dictionary = false;  // its page is the first
  std::int64_t plain_bytes = 0, packed_bytes = 0;
  std::string min, max;  // as plain values; empty: not said
};

// Cells of one row group. Numbers are kept as they are, of texts each different one once. One thread.
class ParquetColumn {
 public:
  explicit ParquetColumn(ParquetField field) : field_(std::move(field)) {}

  const ParquetField& field() const { return field_; }
  // The type of a cell must be that of the field, and null() is for optional ones.
  void null() { present_.push_back(0); }
  void number(std::uint64_t bits);  // of integers and booleans; two's complement
  void real(double value);
  void text(std::string_view value);  // bytes that are no UTF-8 are replaced

  std::size_t rows() const { return present_.size(); }
  std::size_t bytes() const { return bytes_; }  // of memory, about

  // Appends the pages of all cells to `out` and forgets the cells.
  Result<ParquetChunk> take(ZSTD_CCtx_s* zstd, std::string& out);

 private:
  std::string plain_numbers() const;
  std::string dictionary_page() const;
  void set_bounds(ParquetChunk& chunk) const;

  ParquetField field_;
  std::vector<std::uint8_t> present_;  // of each row
  std::vector<std::uint64_t> values_;  // of rows with a value; of texts their numbers
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

// `values`, each of `width` bits (1 to 32), in the hybrid of run lengths and packed bits.
std::string rle_hybrid(const std::vector<std::uint32_t>& values, unsigned width);

}  // namespace tailor::formats
