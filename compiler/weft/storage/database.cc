#include "compiler/weft/storage/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "compiler/weft/storage/table_file.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSampleRows = 512;

Type sql_type(const Column& column) {
  bool null = column.nulls != nullptr;
  switch (column.type.kind) {
    case ColumnKind::kInt32:
      return Type::int32(null);
    case ColumnKind::kInt64:
      return Type::int64(null);
    case ColumnKind::kDecimal:
      return Type::decimal(column.type.precision, column.type.scale, null);
    case ColumnKind::kDate:
      return Type::date(null);
    case ColumnKind::kBool:
      return Type::boolean(null);
    case ColumnKind::kChar:
    case ColumnKind::kVarchar:
      return column.storage == StorageKind::kChar ? Type::char1(null) : Type::string(null);
  }
  return Type::string(null);
}

std::int64_t read_integer(const Column& column, std::uint64_t row) {
  switch (column.storage) {
    case StorageKind::kInt8:
      return static_cast<const std::int8_t*>(column.values)[row];
    case StorageKind::kChar:
      return static_cast<const std::uint8_t*>(column.values)[row];
    case StorageKind::kInt16:
      return static_cast<const std::int16_t*>(column.values)[row];
    case StorageKind::kInt32:
      return static_cast<const std::int32_t*>(column.values)[row];
    default:
      return static_cast<const std::int64_t*>(column.values)[row];
  }
}

// Rows drawn with a fixed seed, so that plans do not change from run to run.
std::vector<std::vector<Value>> sample_rows(const Table& table) {
  std::vector<std::vector<Value>> sample;
  if (table.rows == 0) return sample;
  std::mt19937_64 random(table.rows);
  std::uniform_int_distribution<std::uint64_t> any_row(0, table.rows - 1);
  for (std::size_t i = 0; i < std::min<std::uint64_t>(kSampleRows, table.rows); ++i) {
    std::uint64_t row = any_row(random);
    std::vector<Value> values;
    for (const Column& column : table.columns) values.push_back(read_value(column, row));
    sample.push_back(std::move(values));
  }
  return sample;
}

TableInfo describe_table(const Table& table) {
  TableInfo info;
  info.name = table.name;
  info.rows = table.rows;
  std::vector<std::uint32_t> key;
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    info.columns.push_back(describe_column(table.columns[i], table.rows));
    if (i < 64 && (table.primary_key >> i & 1) != 0) key.push_back(i);
  }
  if (!key.empty()) info.unique_keys.push_back(std::move(key));
  info.sample = sample_rows(table);
  return info;
}

}  // namespace

ColumnInfo describe_column(const Column& column, std::uint64_t rows) {
  ColumnInfo info;
  info.name = column.name;
  info.type = sql_type(column);
  if (info.type.has_range()) info.range = {column.statistics.min, column.statistics.max};
  info.distinct = static_cast<double>(std::max<std::uint64_t>(column.statistics.distinct, 1));
  info.distinct = std::min(info.distinct, static_cast<double>(std::max<std::uint64_t>(rows, 1)));
  info.null_share = rows == 0 ? 0 : static_cast<double>(column.statistics.nulls) / static_cast<double>(rows);
  if (is_string(column.storage)) info.max_length = static_cast<std::uint32_t>(column.statistics.max);
  return info;
}

Value read_value(const Column& column, std::uint64_t row) {
  Type type = sql_type(column);
  if (column.nulls != nullptr && column.nulls[row] != 0) return Value::null_of(type);
  if (!is_string(column.storage)) return Value::of(type, read_integer(column, row));
  std::uint64_t bounds[2] = {0, 0};
  std::size_t size = element_size(column.storage);
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&bounds[i],
                static_cast<const char*>(column.values) + (row + static_cast<std::uint64_t>(i)) * size, size);
  }
  if (bounds[0] > bounds[1] || bounds[1] > column.heap_bytes) return Value::of(type, 0);
  return Value::string(std::string(column.heap + bounds[0], bounds[1] - bounds[0]));
}

Result<std::unique_ptr<Database>> Database::open(const std::string& directory) {
  std::error_code code;
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, code)) {
    if (entry.path().extension() == ".weft") paths.push_back(entry.path().string());
  }
  if (code) return os_error(fmt::format("cannot read {}: {}", directory, code.message()), code.value());
  if (paths.empty()) return invalid(fmt::format("{} holds no tables", directory));
  std::ranges::sort(paths);
  auto database = std::make_unique<Database>();
  for (const std::string& path : paths) {
    Result<Table> table = open_table_file(path);
    if (!table.ok()) return std::move(table).error();
    database->tables_.push_back(std::make_unique<Table>(std::move(*table)));
    database->catalog_.add(describe_table(*database->tables_.back()));
  }
  return database;
}

const Table* Database::find(std::string_view name) const {
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table->name == name) return table.get();
  }
  return nullptr;
}

}  // namespace tailor::weft
