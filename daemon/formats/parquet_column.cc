#include "daemon/formats/parquet_column.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "daemon/formats/thrift_compact.h"
#include "proto/base/errors.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

constexpr int kZstdLevel = 3;  // of zstd
constexpr std::size_t kPackedGroup = 8;

enum PageType : std::int32_t { kDataPage = 0, kDictionaryPage = 2 };

void append_little(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::size_t run_at(const std::vector<std::uint32_t>& values, std::size_t at) {
  std::size_t end = at + 1;
  while (end < values.size() && values[end] == values[at]) ++end;
  return end - at;
}

void append_packed(std::string& out, const std::vector<std::uint32_t>& values, std::size_t from,
                   std::size_t to, unsigned width) {
  const std::size_t groups = (to - from + kPackedGroup - 1) / kPackedGroup;
  append_varint(out, groups << 1 | 1);
  std::uint64_t bits = 0;
  unsigned held = 0;
  for (std::size_t i = from; i < from + groups * kPackedGroup; ++i) {
    bits |= std::uint64_t{i < to ? values[i] : 0} << held;
    for (held += width; held >= 8; held -= 8, bits >>= 8) out += static_cast<char>(bits);
  }
}

// The length of plain values of that type; 0: it differs.
std::size_t plain_size(ParquetType type) {
  switch (physical_type(type)) {
    case ParquetPhysical::kInt32:
      return 4;
    case ParquetPhysical::kInt64:
    case ParquetPhysical::kDouble:
      return 8;
    default:
      return 0;
  }
}

// Header and packed content of a page.
Status append_page(ZSTD_CCtx_s* zstd, std::string& out, PageType type, std::size_t values,
                   ParquetEncoding encoding, const std::string& content, ParquetChunk& chunk) {
  if (content.size() > std::numeric_limits<std::int32_t>::max() / 2)
    return exhausted("Parquet: a page would be longer than the format allows");
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compressCCtx(zstd, packed.data(), packed.size(), content.data(), content.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) return internal(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  std::string header;
  ThriftWriter thrift(header);
  thrift.int32(1, type);
  thrift.int32(2, static_cast<std::int32_t>(content.size()));
  thrift.int32(3, static_cast<std::int32_t>(size));
  thrift.begin_struct(type == kDataPage ? 5 : 7);
  thrift.int32(1, static_cast<std::int32_t>(values));
  thrift.int32(2, static_cast<std::int32_t>(encoding));
  if (type == kDataPage) {
    thrift.int32(3, static_cast<std::int32_t>(ParquetEncoding::kRle));  // of definition levels
    thrift.int32(4, static_cast<std::int32_t>(ParquetEncoding::kRle));  // of repetition levels
  }
  thrift.end_struct();
  thrift.end_struct();
  out += header;
  out.append(packed, 0, size);
  chunk.plain_bytes += static_cast<std::int64_t>(header.size() + content.size());
  chunk.packed_bytes += static_cast<std::int64_t>(header.size() + size);
  return Ok{};
}

bool is_signed(ParquetType type) {
  return type == ParquetType::kInt32 || type == ParquetType::kInt64 || type == ParquetType::kWallTime;
}

}  // namespace

ParquetPhysical physical_type(ParquetType type) {
  switch (type) {
    case ParquetType::kBoolean:
      return ParquetPhysical::kBoolean;
    case ParquetType::kInt32:
    case ParquetType::kUint32:
      return ParquetPhysical::kInt32;
    case ParquetType::kDouble:
      return ParquetPhysical::kDouble;
    case ParquetType::kText:
      return ParquetPhysical::kByteArray;
    case ParquetType::kInt64:
    case ParquetType::kUint64:
    case ParquetType::kWallTime:
      break;
  }
  return ParquetPhysical::kInt64;
}

std::string rle_hybrid(const std::vector<std::uint32_t>& values, unsigned width) {
  std::string out;
  for (std::size_t at = 0; at < values.size();) {
    if (const std::size_t run = run_at(values, at); run >= kPackedGroup) {
      append_varint(out, run << 1);
      append_little(out, values[at], (width + 7) / 8);
      at += run;
      continue;
    }
    std::size_t end = at;
    while (end < values.size() && (end == at || run_at(values, end) < kPackedGroup))
      end = std::min(end + kPackedGroup, values.size());
    append_packed(out, values, at, end, width);
    at = end;
  }
  return out;
}

void ParquetColumn::number(std::uint64_t bits) {
  present_.push_back(1);
  values_.push_back(bits);
  bytes_ += sizeof bits;
}

void ParquetColumn::real(double value) {
  number(std::bit_cast<std::uint64_t>(value));
}

void ParquetColumn::text(std::string_view value) {
  const auto [at, fresh] =
      numbers_.try_emplace(std::string(value), static_cast<std::uint32_t>(texts_.size()));
  if (fresh) {
    texts_.push_back(&at->first);
    bytes_ += value.size() + sizeof(std::string) + 32;
  }
  number(at->second);
}

std::string ParquetColumn::plain_numbers() const {
  std::string out;
  if (field_.type == ParquetType::kBoolean) {
    out.assign((values_.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < values_.size(); ++i)
      out[i / 8] = static_cast<char>(out[i / 8] | (values_[i] != 0 ? 1 : 0) << i % 8);
    return out;
  }
  const std::size_t size = plain_size(field_.type);
  out.reserve(values_.size() * size);
  for (const std::uint64_t value : values_) append_little(out, value, size);
  return out;
}

std::string ParquetColumn::dictionary_page() const {
  std::string out;
  for (const std::string* text : texts_) {
    const std::string clean = replace_non_utf8(*text);
    append_little(out, clean.size(), 4);
    out += clean;
  }
  return out;
}

void ParquetColumn::set_bounds(ParquetChunk& chunk) const {
  const std::size_t size = plain_size(field_.type);
  if (values_.empty() || size == 0 || field_.type == ParquetType::kDouble) return;
  const auto less = [by_sign = is_signed(field_.type)](std::uint64_t a, std::uint64_t b) {
    return by_sign ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  };
  const auto [least, most] = std::ranges::minmax_element(values_, less);
  append_little(chunk.min, *least, size);
  append_little(chunk.max, *most, size);
}

Result<ParquetChunk> ParquetColumn::take(ZSTD_CCtx_s* zstd, std::string& out) {
  ParquetChunk chunk;
  chunk.values = static_cast<std::int64_t>(present_.size());
  chunk.nulls = static_cast<std::int64_t>(present_.size() - values_.size());
  chunk.dictionary = !texts_.empty();
  std::string content;
  if (field_.optional) {
    const std::string levels = rle_hybrid({present_.begin(), present_.end()}, 1);
    append_little(content, levels.size(), 4);
    content += levels;
  }
  ParquetEncoding encoding = ParquetEncoding::kPlain;
  if (chunk.dictionary) {
    encoding = ParquetEncoding::kRleDictionary;
    const std::string dictionary = dictionary_page();
    Status put =
        append_page(zstd, out, kDictionaryPage, texts_.size(), ParquetEncoding::kPlain, dictionary, chunk);
    if (!put) return put.error();
    chunk.data_page = chunk.packed_bytes;
    const auto width = static_cast<unsigned>(std::max<std::size_t>(1, std::bit_width(texts_.size() - 1)));
    content += static_cast<char>(width);
    content += rle_hybrid({values_.begin(), values_.end()}, width);
  } else {
    content += plain_numbers();
    set_bounds(chunk);
  }
  Status put = append_page(zstd, out, kDataPage, present_.size(), encoding, content, chunk);
  if (!put) return put.error();
  *this = ParquetColumn(std::move(field_));
  return chunk;
}

}  // namespace tailor::formats
