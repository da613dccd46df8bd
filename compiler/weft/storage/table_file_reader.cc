#include <fmt/format.h>

#include <cstring>

#include "compiler/weft/storage/table_file.h"
#include "compiler/weft/storage/table_file_format.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes) {
  return offset <= file_bytes && bytes <= file_bytes - offset;
}

// The offsets of the first and last text bound the heap, and the padding lies inside the file.
bool strings_fit(const TableFileColumn& c, StorageKind storage, std::uint64_t rows, const std::byte* file,
                 std::uint64_t file_bytes) {
  if (!inside(c.heap_offset, c.heap_bytes, file_bytes) || file_bytes - c.heap_offset - c.heap_bytes < 16) {
    return false;
  }
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t size = element_size(storage);
  std::memcpy(&first, file + c.values_offset, size);
  std::memcpy(&last, file + c.values_offset + rows * size, size);
  return first == 0 && last == c.heap_bytes;
}

bool read_column(const TableFileColumn& c, std::uint64_t rows, const std::byte* file,
                 std::uint64_t file_bytes, Column& out) {
  if (c.kind < 1 || c.kind > 7 || c.storage < 1 || c.storage > 7 || c.scale > c.precision) return false;
  out.type = {static_cast<ColumnKind>(c.kind), c.precision, c.scale, c.length, c.nullable != 0};
  out.storage = static_cast<StorageKind>(c.storage);
  out.statistics = {c.min, c.max, c.distinct, c.nulls};
  bool string = is_string(out.storage);
  std::size_t size = element_size(out.storage);
  if (rows > file_bytes || c.values_bytes != (rows + (string ? 1 : 0)) * size) return false;
  if (!inside(c.values_offset, c.values_bytes, file_bytes) || c.values_offset % size != 0) return false;
  if (string && !strings_fit(c, out.storage, rows, file, file_bytes)) return false;
  if (c.nulls_bytes != (c.nulls > 0 ? rows : 0) || !inside(c.nulls_offset, c.nulls_bytes, file_bytes))
    return false;
  out.values = file + c.values_offset;
  out.values_bytes = c.values_bytes;
  if (string) {
    out.heap = reinterpret_cast<const char*>(file + c.heap_offset);
    out.heap_bytes = c.heap_bytes;
  }
  if (c.nulls_bytes > 0) out.nulls = reinterpret_cast<const std::uint8_t*>(file + c.nulls_offset);
  return true;
}

bool head_is_whole(TableFileHeader header, std::span<const std::byte> file) {
  std::uint64_t columns_end = sizeof(header) + std::uint64_t{header.columns} * sizeof(TableFileColumn);
  if (header.file_bytes != file.size() || header.columns > 4096 || header.names_offset != columns_end)
    return false;
  if (!inside(header.names_offset, header.names_bytes, file.size())) return false;
  std::vector<std::byte> head(file.begin(),
                              file.begin() + static_cast<std::ptrdiff_t>(columns_end + header.names_bytes));
  std::uint64_t checksum = header.checksum;
  header.checksum = 0;
  std::memcpy(head.data(), &header, sizeof(header));
  return table_file_checksum(head) == checksum;
}

}  // namespace

Result<Table> open_table_file(const std::string& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok()) return std::move(mapped).error();
  std::span<const std::byte> file = mapped->bytes();
  TableFileHeader header;
  if (file.size() < sizeof(header)) return invalid(fmt::format("{} is not a table file: too short", path));
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic != kTableFileMagic) return invalid(fmt::format("{} is not a table file", path));
  if (header.version != kTableFileVersion) {
    return internal(
        fmt::format("{} has version {} of the table format, this program reads version {}: load it anew",
                    path, header.version, kTableFileVersion));
  }
  if (!head_is_whole(header, file))
    return internal(fmt::format("{} is damaged: its head does not fit", path));

  Table table;
  table.rows = header.rows;
  table.primary_key = header.primary_key;
  std::string_view names(reinterpret_cast<const char*>(file.data() + header.names_offset),
                         header.names_bytes);
  table.name = names.substr(0, header.table_name_bytes);
  names.remove_prefix(table.name.size());
  for (std::uint32_t i = 0; i < header.columns; ++i) {
    TableFileColumn descriptor;
    std::memcpy(&descriptor, file.data() + sizeof(header) + i * sizeof(descriptor), sizeof(descriptor));
    Column column;
    if (descriptor.name_bytes > names.size() ||
        !read_column(descriptor, header.rows, file.data(), file.size(), column)) {
      return internal(fmt::format("{} is damaged: column {} does not fit", path, i));
    }
    column.name = names.substr(0, descriptor.name_bytes);
    names.remove_prefix(descriptor.name_bytes);
    table.columns.push_back(std::move(column));
  }
  table.file = std::move(*mapped);
  return table;
}

}  // namespace tailor::weft
