#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "compiler/weft/storage/parallel.h"
#include "compiler/weft/storage/table_file.h"
#include "compiler/weft/storage/table_file_format.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kHeapPadding = 16;

std::uint64_t align(std::uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

// What one column of all row groups together looks like.
struct ColumnSummary {
  StorageKind storage = StorageKind::kInt64;
  ColumnStatistics statistics;
  std::uint64_t heap_bytes = 0;
};

ColumnSummary summarise(const ColumnType& type, std::span<const RowGroup> groups, std::size_t column) {
  ColumnSummary out;
  DistinctSketch sketch;
  bool text = type.kind == ColumnKind::kChar || type.kind == ColumnKind::kVarchar;
  bool single_characters = text && type.kind == ColumnKind::kChar && type.length == 1;
  out.statistics.min = std::numeric_limits<std::int64_t>::max();
  out.statistics.max = std::numeric_limits<std::int64_t>::min();
  for (const RowGroup& group : groups) {
    const ColumnChunk& chunk = group[column];
    out.statistics.min = std::min(out.statistics.min, chunk.statistics().min);
    out.statistics.max = std::max(out.statistics.max, chunk.statistics().max);
    out.statistics.nulls += chunk.statistics().nulls;
    out.heap_bytes += chunk.heap_bytes();
    sketch.merge(chunk.sketch());
    single_characters = single_characters && chunk.single_characters();
  }
  if (out.statistics.min > out.statistics.max) out.statistics.min = out.statistics.max = 0;
  out.statistics.distinct = sketch.estimate();
  if (!text) {
    out.storage = narrowest_integer(std::min<std::int64_t>(out.statistics.min, 0), out.statistics.max);
  } else if (single_characters) {
    out.storage = StorageKind::kChar;
    out.heap_bytes = 0;
  } else {
    out.storage = out.heap_bytes <= std::numeric_limits<std::uint32_t>::max() ? StorageKind::kString
                                                                              : StorageKind::kLongString;
  }
  return out;
}

// Gives every array its place; returns the size of the file.
std::uint64_t place_arrays(std::uint64_t rows, std::span<const ColumnSummary> summaries, std::uint64_t offset,
                           std::span<TableFileColumn> columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    TableFileColumn& column = columns[i];
    bool string = is_string(summaries[i].storage);
    column.values_offset = align(offset);
    column.values_bytes = (rows + (string ? 1 : 0)) * element_size(summaries[i].storage);
    offset = column.values_offset + column.values_bytes;
    if (string) {
      column.heap_offset = align(offset);
      column.heap_bytes = summaries[i].heap_bytes;
      offset = column.heap_offset + column.heap_bytes + kHeapPadding;
    }
    if (summaries[i].statistics.nulls > 0) {
      column.nulls_offset = align(offset);
      column.nulls_bytes = rows;
      offset = column.nulls_offset + rows;
    }
  }
  return align(offset);
}

void copy_column(std::span<const RowGroup> groups, std::size_t index, StorageKind storage,
                 const TableFileColumn& column, std::byte* file) {
  std::byte* values = file + column.values_offset;
  // Strings: element 0 is the begin of the first text, which the zeroed file already says.
  if (is_string(storage)) values += element_size(storage);
  std::byte* heap = file + column.heap_offset;
  std::byte* nulls = file + column.nulls_offset;
  std::uint64_t heap_done = 0;
  for (const RowGroup& group : groups) {
    const ColumnChunk& chunk = group[index];
    if (is_string(storage)) {
      chunk.copy_offsets(storage, heap_done, values);
      chunk.copy_heap(reinterpret_cast<char*>(heap + heap_done));
      heap_done += chunk.heap_bytes();
    } else {
      chunk.copy_values(storage, values);
    }
    if (column.nulls_bytes > 0) {
      chunk.copy_nulls(reinterpret_cast<std::uint8_t*>(nulls));
      nulls += chunk.rows();
    }
    values += chunk.rows() * element_size(storage);
  }
}

TableFileColumn describe(const ColumnDefinition& definition, const ColumnSummary& summary) {
  TableFileColumn column{};
  column.name_bytes = static_cast<std::uint32_t>(definition.name.size());
  column.kind = static_cast<std::uint8_t>(definition.type.kind);
  column.precision = definition.type.precision;
  column.scale = definition.type.scale;
  column.nullable = definition.type.nullable;
  column.length = definition.type.length;
  column.storage = static_cast<std::uint8_t>(summary.storage);
  column.min = summary.statistics.min;
  column.max = summary.statistics.max;
  column.distinct = summary.statistics.distinct;
  column.nulls = summary.statistics.nulls;
  return column;
}

}  // namespace

Status write_table_file(const std::string& path, const TableDefinition& definition,
                        std::span<const RowGroup> groups, unsigned threads) {
  std::size_t count = definition.columns.size();
  std::vector<ColumnSummary> summaries(count);
  parallel_for(count, threads,
               [&](std::size_t i) { summaries[i] = summarise(definition.columns[i].type, groups, i); });

  std::string names = definition.name;
  std::vector<TableFileColumn> columns;
  for (std::size_t i = 0; i < count; ++i) {
    columns.push_back(describe(definition.columns[i], summaries[i]));
    names += definition.columns[i].name;
  }
  TableFileHeader header{};
  header.magic = kTableFileMagic;
  header.version = kTableFileVersion;
  header.columns = static_cast<std::uint32_t>(count);
  for (const RowGroup& group : groups) header.rows += group.empty() ? 0 : group[0].rows();
  header.primary_key = definition.primary_key;
  header.table_name_bytes = static_cast<std::uint32_t>(definition.name.size());
  header.names_offset = sizeof(header) + count * sizeof(TableFileColumn);
  header.names_bytes = names.size();
  std::uint64_t head_bytes = header.names_offset + header.names_bytes;
  header.file_bytes = place_arrays(header.rows, summaries, head_bytes, columns);

  std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  Result<MappedFile> file = MappedFile::create(temporary, header.file_bytes);
  if (!file.ok()) {
    ::unlink(temporary.c_str());
    return std::move(file).error();
  }
  std::byte* data = file->data();
  parallel_for(count, threads,
               [&](std::size_t i) { copy_column(groups, i, summaries[i].storage, columns[i], data); });
  std::memcpy(data + sizeof(header), columns.data(), count * sizeof(TableFileColumn));
  std::memcpy(data + header.names_offset, names.data(), names.size());
  std::memcpy(data, &header, sizeof(header));
  header.checksum = table_file_checksum({data, head_bytes});
  std::memcpy(data, &header, sizeof(header));
  Status synced = file->sync();
  if (synced.ok() && std::rename(temporary.c_str(), path.c_str()) == 0) return Ok{};
  Error error = synced.ok() ? os_error(fmt::format("cannot rename {} to {}", temporary, path), errno)
                            : std::move(synced).error();
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace tailor::weft
