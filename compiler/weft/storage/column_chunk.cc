#include "compiler/weft/storage/column_chunk.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tailor::weft {
namespace {

template <typename From, typename To>
void Convert(const From* from, std::size_t count, std::byte* out) {
  To* to = reinterpret_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <typename From>
void ConvertTo(const From* from, std::size_t count, StorageKind kind, std::byte* out) {
  switch (ElementSize(kind)) {
    case 1:
      return Convert<From, std::int8_t>(from, count, out);
    case 2:
      return Convert<From, std::int16_t>(from, count, out);
    case 4:
      return Convert<From, std::int32_t>(from, count, out);
    default:
      return Convert<From, std::int64_t>(from, count, out);
  }
}

}  // namespace

void ColumnChunk::AppendText(std::string_view text) {
  heap_.append(text);
  ends_.push_back(static_cast<std::uint32_t>(heap_.size()));
}

void ColumnChunk::AppendNull() {
  std::uint64_t row = IsText() ? ends_.size() : integers_.size();
  nulls_.resize(row + 1);
  nulls_[row] = 1;
  ++statistics_.nulls;
  if (IsText()) {
    AppendText({});
  } else {
    integers_.push_back(0);
  }
}

void ColumnChunk::Seal() {
  rows_ = IsText() ? ends_.size() : integers_.size();
  statistics_.min = std::numeric_limits<std::int64_t>::max();
  statistics_.max = std::numeric_limits<std::int64_t>::min();
  if (IsText()) {
    SealTexts();
  } else {
    SealIntegers();
  }
}

void ColumnChunk::SealTexts() {
  std::uint32_t begin = 0;
  statistics_.min = 0;
  statistics_.max = 0;
  for (std::uint64_t row = 0; row < rows_; ++row) {
    std::uint32_t size = ends_[row] - begin;
    single_characters_ &= size == 1;
    if (!IsNull(row)) {
      sketch_.Add(std::string_view(heap_).substr(begin, size));
      statistics_.max = std::max<std::int64_t>(statistics_.max, size);
    }
    begin = ends_[row];
  }
}

void ColumnChunk::SealIntegers() {
  for (std::uint64_t row = 0; row < rows_; ++row) {
    if (IsNull(row)) continue;
    statistics_.min = std::min(statistics_.min, integers_[row]);
    statistics_.max = std::max(statistics_.max, integers_[row]);
    sketch_.Add(integers_[row]);
  }
  // A null is stored as 0, which fits every kind.
  packed_kind_ = statistics_.min > statistics_.max ? StorageKind::kInt8
                                                   : NarrowestInteger(statistics_.min, statistics_.max);
  packed_.resize(rows_ * ElementSize(packed_kind_));
  ConvertTo(integers_.data(), rows_, packed_kind_, packed_.data());
  integers_ = {};
}

void ColumnChunk::CopyValues(StorageKind kind, std::byte* out) const {
  if (kind == StorageKind::kChar) {
    std::memcpy(out, heap_.data(), rows_);
    return;
  }
  switch (packed_kind_) {
    case StorageKind::kInt8:
      return ConvertTo(reinterpret_cast<const std::int8_t*>(packed_.data()), rows_, kind, out);
    case StorageKind::kInt16:
      return ConvertTo(reinterpret_cast<const std::int16_t*>(packed_.data()), rows_, kind, out);
    case StorageKind::kInt32:
      return ConvertTo(reinterpret_cast<const std::int32_t*>(packed_.data()), rows_, kind, out);
    default:
      return ConvertTo(reinterpret_cast<const std::int64_t*>(packed_.data()), rows_, kind, out);
  }
}

void ColumnChunk::CopyOffsets(StorageKind kind, std::uint64_t base, std::byte* out) const {
  for (std::uint64_t row = 0; row < rows_; ++row) {
    std::uint64_t end = base + ends_[row];
    // Little endian: the low half of the 64-bit value is the 32-bit value.
    std::memcpy(out + row * ElementSize(kind), &end, ElementSize(kind));
  }
}

void ColumnChunk::CopyHeap(char* out) const {
  std::memcpy(out, heap_.data(), heap_.size());
}

void ColumnChunk::CopyNulls(std::uint8_t* out) const {
  std::fill_n(out, rows_, std::uint8_t{0});
  std::copy(nulls_.begin(), nulls_.end(), out);
}

}  // namespace tailor::weft
