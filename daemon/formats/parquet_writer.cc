#include "daemon/formats/parquet_writer.h"

#include <zstd.h>

#include <cstdlib>
#include <utility>

#include "daemon/formats/thrift_compact.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

constexpr std::string_view kParquetMagic = "PAR1";
constexpr std::int32_t kZstdCodec = 6, kUtf8Text = 0, kTimestampMicros = 10, kUint32 = 13, kUint64 = 14;

// What a number or text means, beside its physical type.
void add_meaning(ThriftWriter& thrift, ParquetType type) {
  if (type == ParquetType::kText) {
    thrift.int32(6, kUtf8Text);
    thrift.begin_struct(10);
    thrift.empty_struct(1);
    thrift.end_struct();
  } else if (type == ParquetType::kUint32 || type == ParquetType::kUint64) {
    thrift.int32(6, type == ParquetType::kUint32 ? kUint32 : kUint64);
    thrift.begin_struct(10);
    thrift.begin_struct(10);
    thrift.byte(1, type == ParquetType::kUint32 ? 32 : 64);
    thrift.boolean(2, false);
    thrift.end_struct();
    thrift.end_struct();
  } else if (type == ParquetType::kWallTime) {
    thrift.int32(6, kTimestampMicros);
    thrift.begin_struct(10);
    thrift.begin_struct(8);
    thrift.boolean(1, true);
    thrift.begin_struct(2);
    thrift.empty_struct(2);
    thrift.end_struct();
    thrift.end_struct();
    thrift.end_struct();
  }
}

void add_schema(ThriftWriter& thrift, const std::vector<ParquetColumn>& columns) {
  thrift.begin_list(2, ThriftWriter::kStruct, columns.size() + 1);
  thrift.begin_struct_element();
  thrift.bytes(4, "schema");
  thrift.int32(5, static_cast<std::int32_t>(columns.size()));
  thrift.end_struct();
  for (const ParquetColumn& column : columns) {
    thrift.begin_struct_element();
    thrift.int32(1, static_cast<std::int32_t>(physical_type(column.field().type)));
    thrift.int32(3, column.field().optional ? 1 : 0);
    thrift.bytes(4, column.field().name);
    add_meaning(thrift, column.field().type);
    thrift.end_struct();
  }
}

void add_statistics(ThriftWriter& thrift, const ParquetChunk& chunk) {
  thrift.begin_struct(12);
  thrift.int64(3, chunk.nulls);
  if (!chunk.min.empty()) {
    thrift.bytes(5, chunk.max);
    thrift.bytes(6, chunk.min);
  }
  thrift.end_struct();
}

// The struct ColumnChunk, as an element of a list.
void add_chunk(ThriftWriter& thrift, const ParquetField& field, const ParquetChunk& chunk,
               std::int64_t begin) {
  const auto encoding = [](ParquetEncoding each) { return static_cast<std::int32_t>(each); };
  thrift.begin_struct_element();
  thrift.int64(2, 0);  // no metadata elsewhere in the file
  thrift.begin_struct(3);
  thrift.int32(1, static_cast<std::int32_t>(physical_type(field.type)));
  thrift.begin_list(2, ThriftWriter::kInt32, chunk.dictionary ? 3 : 2);
  thrift.element(encoding(ParquetEncoding::kPlain));
  thrift.element(encoding(ParquetEncoding::kRle));
  if (chunk.dictionary) thrift.element(encoding(ParquetEncoding::kRleDictionary));
  thrift.begin_list(3, ThriftWriter::kBytes, 1);
  thrift.element(field.name);
  thrift.int32(4, kZstdCodec);
  thrift.int64(5, chunk.values);
  thrift.int64(6, chunk.plain_bytes);
  thrift.int64(7, chunk.packed_bytes);
  thrift.int64(9, begin + chunk.data_page);
  if (chunk.dictionary) thrift.int64(11, begin);
  add_statistics(thrift, chunk);
  thrift.end_struct();
  thrift.end_struct();
}

}  // namespace

ParquetWriter::ParquetWriter(std::vector<ParquetField> fields, std::string producer,
                             std::vector<std::pair<std::string, std::string>> metadata, Put put)
    : producer_(std::move(producer)),
      metadata_(std::move(metadata)),
      put_(std::move(put)),
      zstd_(ZSTD_createCCtx()) {
  for (ParquetField& field : fields) columns_.emplace_back(std::move(field));
}

ParquetWriter::~ParquetWriter() {
  ZSTD_freeCCtx(zstd_);
}

ParquetColumn& ParquetWriter::next(bool is_text, bool is_real) {
  if (cell_ >= columns_.size()) std::abort();
  ParquetColumn& column = columns_[cell_++];
  const ParquetType type = column.field().type;
  if ((type == ParquetType::kText) != is_text || (type == ParquetType::kDouble) != is_real) std::abort();
  return column;
}

ParquetWriter& ParquetWriter::null() {
  if (cell_ >= columns_.size() || !columns_[cell_].field().optional) std::abort();
  columns_[cell_++].null();
  return *this;
}

ParquetWriter& ParquetWriter::text(std::string_view value) {
  next(true, false).text(value);
  return *this;
}

ParquetWriter& ParquetWriter::real(double value) {
  next(false, true).real(value);
  return *this;
}

ParquetWriter& ParquetWriter::bits(std::uint64_t value) {
  next(false, false).number(value);
  return *this;
}

Status ParquetWriter::end_row() {
  if (cell_ != columns_.size()) std::abort();
  cell_ = 0;
  ++rows_;
  if (columns_.front().rows() >= kMostRows) return end_group();
  std::size_t bytes = 0;
  for (const ParquetColumn& column : columns_) bytes += column.bytes();
  return bytes >= kMostBytes ? end_group() : Ok{};
}

Status ParquetWriter::put(std::string_view bytes) {
  written_ += static_cast<std::int64_t>(bytes.size());
  return put_(bytes);
}

Status ParquetWriter::end_group() {
  if (written_ == 0) {
    if (Status begun = put(kParquetMagic); !begun) return begun;
  }
  RowGroup group;
  group.rows = static_cast<std::int64_t>(columns_.front().rows());
  group.begin = written_;
  for (ParquetColumn& column : columns_) {
    std::string bytes;
    auto chunk = column.take(zstd_, bytes);
    if (!chunk) return chunk.error();
    group.chunks.push_back(*std::move(chunk));
    if (Status done = put(bytes); !done) return done;
  }
  groups_.push_back(std::move(group));
  return Ok{};
}

std::string ParquetWriter::footer() const {
  std::string out;
  ThriftWriter thrift(out);
  thrift.int32(1, 2);  // of the format
  add_schema(thrift, columns_);
  thrift.int64(3, static_cast<std::int64_t>(rows_));
  thrift.begin_list(4, ThriftWriter::kStruct, groups_.size());
  for (const RowGroup& group : groups_) {
    std::int64_t plain = 0, at = group.begin;
    thrift.begin_struct_element();
    thrift.begin_list(1, ThriftWriter::kStruct, group.chunks.size());
    for (std::size_t i = 0; i < group.chunks.size(); ++i) {
      add_chunk(thrift, columns_[i].field(), group.chunks[i], at);
      at += group.chunks[i].packed_bytes;
      plain += group.chunks[i].plain_bytes;
    }
    thrift.int64(2, plain);
    thrift.int64(3, group.rows);
    thrift.int64(5, group.begin);
    thrift.int64(6, at - group.begin);
    thrift.end_struct();
  }
  thrift.begin_list(5, ThriftWriter::kStruct, metadata_.size());
  for (const auto& [key, value] : metadata_) {
    thrift.begin_struct_element();
    thrift.bytes(1, key);
    thrift.bytes(2, value);
    thrift.end_struct();
  }
  thrift.bytes(6, producer_);
  thrift.begin_list(7, ThriftWriter::kStruct, columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    thrift.begin_struct_element();
    thrift.empty_struct(1);  // statistics are in the order of the type
    thrift.end_struct();
  }
  thrift.end_struct();
  return out;
}

Status ParquetWriter::finish() {
  if (columns_.front().rows() > 0) {
    if (Status ended = end_group(); !ended) return ended;
  }
  if (written_ == 0) {
    if (Status begun = put(kParquetMagic); !begun) return begun;
  }
  std::string end = footer();
  const auto size = static_cast<std::uint32_t>(end.size());
  for (int i = 0; i < 4; ++i) end += static_cast<char>(size >> 8 * i);
  end += kParquetMagic;
  return put(end);
}

}  // namespace tailor::formats
