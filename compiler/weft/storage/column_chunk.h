// The rows of one column from one piece of an input, kept as narrow as they allow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/storage/column.h"
#include "compiler/weft/storage/distinct_sketch.h"

namespace tailor::weft {

// Append rows, then seal(), then read. One thread at a time.
class ColumnChunk {
 public:
  explicit ColumnChunk(const ColumnType& type) : type_(type) {}

  void append_integer(std::int64_t value) { integers_.push_back(value); }
  void append_text(std::string_view text);
  void append_null();

  // Computes the statistics and packs integers into the narrowest kind.
  void seal();

  std::uint64_t rows() const { return rows_; }
  const ColumnStatistics& statistics() const { return statistics_; }
  const DistinctSketch& sketch() const { return sketch_; }
  // True when every text is exactly one byte long.
  bool single_characters() const { return single_characters_; }
  std::uint64_t heap_bytes() const { return heap_.size(); }
  bool has_nulls() const { return statistics_.nulls > 0; }

  // Widens the integers (or single characters) into `out`, an array of `kind`.
  void copy_values(StorageKind kind, std::byte* out) const;
  // Writes the end offset of every text, starting from `base`, and the texts themselves.
  void copy_offsets(StorageKind kind, std::uint64_t base, std::byte* out) const;
  void copy_heap(char* out) const;
  void copy_nulls(std::uint8_t* out) const;

 private:
  bool is_text() const { return type_.kind == ColumnKind::kChar || type_.kind == ColumnKind::kVarchar; }
  bool is_null(std::uint64_t row) const { return row < nulls_.size() && nulls_[row] != 0; }
  void seal_texts();
  void seal_integers();

  ColumnType type_;
  std::uint64_t rows_ = 0;
  std::vector<std::int64_t> integers_;  // until sealed
  std::vector<std::byte> packed_;       // afterwards
  StorageKind packed_kind_ = StorageKind::kInt64;
  std::vector<std::uint32_t> ends_;  // texts: end of each in heap_; a chunk stays below 4 GiB
  std::string heap_;
  std::vector<std::uint8_t> nulls_;  // empty, or one byte a row up to the last null
  ColumnStatistics statistics_;
  DistinctSketch sketch_;
  bool single_characters_ = true;
};

}  // namespace tailor::weft
