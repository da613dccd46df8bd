// Writes a table as a Parquet file, by row groups: memory is that of one row group
// (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift). Readers need nothing
// but zstd. No Parquet library is used: docs/exports.md says why.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "daemon/formats/parquet_column.h"
#include "proto/base/result.h"

namespace tailor::formats {

// One thread. A file without its end is refused by every reader, so a failure leaves nothing that looks
// whole.
class ParquetWriter {
 public:
  // Takes the next bytes of the file.
  using Put = std::function<Status(std::string_view)>;
  // A row group ends after this many rows, or when its cells take this much memory.
  static constexpr std::size_t kMostRows = 1u << 17, kMostBytes = 64u << 20;

  // `producer` is "program version 1.2.3"; `metadata` are keys with their values.
  ParquetWriter(std::vector<ParquetField> fields, std::string producer,
                std::vector<std::pair<std::string, std::string>> metadata, Put put);
  ~ParquetWriter();
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;

  // The next cell of the row. Its type must be that of the field, else the program aborts.
  ParquetWriter& null();
  ParquetWriter& text(std::string_view value);
  ParquetWriter& real(double value);
  template <typename Integer>
  ParquetWriter& number(Integer value) {
    static_assert(std::is_integral_v<Integer>);
    return bits(static_cast<std::uint64_t>(value));
  }
  // null() unless `known`.
  template <typename Integer>
  ParquetWriter& number_if(bool known, Integer value) {
    return known ? number(value) : null();
  }
  ParquetWriter& text_if(std::string_view value) { return value.empty() ? null() : text(value); }

  // The row has all its cells.
  Status end_row();
  // Once, after the last row.
  Status finish();
  std::uint64_t rows() const { return rows_; }

 private:
  struct RowGroup {
    std::int64_t rows = 0;
    std::vector<ParquetChunk> chunks;
    std::int64_t begin = 0;  // of its bytes in the file
  };

  ParquetWriter& bits(std::uint64_t value);
  ParquetColumn& next(bool is_text, bool is_real);
  Status end_group();
  Status put(std::string_view bytes);
  std::string footer() const;

  std::vector<ParquetColumn> columns_;
  std::string producer_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  Put put_;
  ZSTD_CCtx_s* zstd_;
  std::vector<RowGroup> groups_;
  std::size_t cell_ = 0;  // of the row
  std::uint64_t rows_ = 0;
  std::int64_t written_ = 0;
};

}  // namespace tailor::formats
