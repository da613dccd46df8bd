#include "compiler/weft/storage/column_chunk.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tailor::weft {
namespace {

template <typename From, typename To>
void convert(const From* from, std::size_t count, std::byte* out) {
  To* to = reinterpret_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<To>(from[i]);  // NOLINT(bugprone-signed-char-misuse): bytes are numbers here
  }
}

template <typename From>
void convert_to(const From* from, std::size_t count, StorageKind kind, std::byte* out) {
  switch (element_size(kind)) {
    case 1:
      return convert<From, std::int8_t>(from, count, out);
    case 2:
      return convert<From, std::int16_t>(from, count, out);
    case 4:
      return convert<From, std::int32_t>(from, count, out);
    default:
      return convert<From, std::int64_t>(from, count, out);
  }
}

}  // namespace

void ColumnChunk::append_text(std::string_view text) {
  heap_.append(text);
  ends_.push_back(static_cast<std::uint32_t>(heap_.size()));
}

void ColumnChunk::append_null() {
  std::uint64_t row = is_text() ? ends_.size() : integers_.size();
  nulls_.resize(row + 1);
  nulls_[row] = 1;
  ++statistics_.nulls;
  if (is_text()) {
    append_text({});
  } else {
    integers_.push_back(0);
  }
}

void ColumnChunk::seal() {
  rows_ = is_text() ? ends_.size() : integers_.size();
  statistics_.min = std::numeric_limits<std::int64_t>::max();
  statistics_.max = std::numeric_limits<std::int64_t>::min();
  if (is_text()) {
    seal_texts();
  } else {
    seal_integers();
  }
}

void ColumnChunk::seal_texts() {
  std::uint32_t begin = 0;
  statistics_.min = 0;
  statistics_.max = 0;
  for (std::uint64_t row = 0; row < rows_; ++row) {
    std::uint32_t size = ends_[row] - begin;
    single_characters_ &= size == 1;
    if (!is_null(row)) {
      sketch_.add(std::string_view(heap_).substr(begin, size));
      statistics_.max = std::max<std::int64_t>(statistics_.max, size);
    }
    begin = ends_[row];
  }
}

void ColumnChunk::seal_integers() {
  for (std::uint64_t row = 0; row < rows_; ++row) {
    if (is_null(row)) continue;
    statistics_.min = std::min(statistics_.min, integers_[row]);
    statistics_.max = std::max(statistics_.max, integers_[row]);
    sketch_.add(integers_[row]);
  }
  // A null is stored as 0, which fits every kind.
  packed_kind_ = statistics_.min > statistics_.max ? StorageKind::kInt8
                                                   : narrowest_integer(statistics_.min, statistics_.max);
  packed_.resize(rows_ * element_size(packed_kind_));
  convert_to(integers_.data(), rows_, packed_kind_, packed_.data());
  integers_ = {};
}

void ColumnChunk::copy_values(StorageKind kind, std::byte* out) const {
  if (kind == StorageKind::kChar) {
    std::memcpy(out, heap_.data(), rows_);
    return;
  }
  switch (packed_kind_) {
    case StorageKind::kInt8:
      return convert_to(reinterpret_cast<const std::int8_t*>(packed_.data()), rows_, kind, out);
    case StorageKind::kInt16:
      return convert_to(reinterpret_cast<const std::int16_t*>(packed_.data()), rows_, kind, out);
    case StorageKind::kInt32:
      return convert_to(reinterpret_cast<const std::int32_t*>(packed_.data()), rows_, kind, out);
    default:
      return convert_to(reinterpret_cast<const std::int64_t*>(packed_.data()), rows_, kind, out);
  }
}

void ColumnChunk::copy_offsets(StorageKind kind, std::uint64_t base, std::byte* out) const {
  for (std::uint64_t row = 0; row < rows_; ++row) {
    std::uint64_t end = base + ends_[row];
    // Little endian: the low half of the 64-bit value is the 32-bit value.
    std::memcpy(out + row * element_size(kind), &end, element_size(kind));
  }
}

void ColumnChunk::copy_heap(char* out) const {
  std::memcpy(out, heap_.data(), heap_.size());
}

void ColumnChunk::copy_nulls(std::uint8_t* out) const {
  std::fill_n(out, rows_, std::uint8_t{0});
  std::copy(nulls_.begin(), nulls_.end(), out);
}

}  // namespace tailor::weft
