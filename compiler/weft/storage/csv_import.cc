#include "compiler/weft/storage/csv_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/weft/storage/field_parser.h"
#include "compiler/weft/storage/mapped_file.h"
#include "compiler/weft/types/value.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

constexpr std::size_t kMaxDigits = 18;  // of a decimal that fits 64 bits

// What a column's fields may still all be.
class TypeGuess {
 public:
  void see(std::string_view field) {
    if (field.empty()) {
      nullable_ = true;
      return;
    }
    seen_ = true;
    integer_ = integer_ && parse_integer(field).has_value();
    date_ = date_ && parse_date(field).has_value();
    bool_ = bool_ && (field == "true" || field == "false");
    see_decimal(field);
    one_byte_ = one_byte_ && field.size() == 1;
  }

  ColumnType type() const {
    ColumnType type{.kind = ColumnKind::kVarchar, .nullable = nullable_};
    if (!seen_) return type;
    if (integer_) {
      type.kind = ColumnKind::kInt64;
    } else if (decimal_ && whole_ + scale_ <= kMaxDigits) {
      type.kind = ColumnKind::kDecimal;
      type.precision = static_cast<std::uint8_t>(kMaxDigits);
      type.scale = static_cast<std::uint8_t>(scale_);
    } else if (date_) {
      type.kind = ColumnKind::kDate;
    } else if (bool_) {
      type.kind = ColumnKind::kBool;
    } else if (one_byte_ && !nullable_) {
      type.kind = ColumnKind::kChar;
      type.length = 1;
    }
    return type;
  }

 private:
  void see_decimal(std::string_view field) {
    if (!decimal_) return;
    std::size_t point = std::min(field.find('.'), field.size());
    std::size_t digits = field.size() - std::min(point + 1, field.size());
    decimal_ = digits <= kMaxDigits && parse_decimal(field, static_cast<unsigned>(digits)).has_value();
    whole_ = std::max(whole_, point);
    scale_ = std::max(scale_, digits);
  }

  bool seen_ = false;
  bool nullable_ = false;
  bool integer_ = true;
  bool decimal_ = true;
  bool date_ = true;
  bool bool_ = true;
  bool one_byte_ = true;
  std::size_t whole_ = 0;
  std::size_t scale_ = 0;
};

std::string column_name(std::string_view text) {
  bool starts_with_letter = !text.empty() && !(text[0] >= '0' && text[0] <= '9');
  std::string name = starts_with_letter ? "" : "c";
  for (char c : text) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name.push_back(!letter ? '_' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c));
  }
  return name;
}

}  // namespace

Result<TableDefinition> infer_table(std::string_view text, const std::string& name,
                                    const DelimitedFormat& format) {
  TableDefinition table{column_name(name), {}, 0};
  std::vector<TypeGuess> guesses;
  std::vector<std::string_view> fields;
  std::vector<std::string> storage;
  std::size_t position = 0;
  for (std::uint64_t record = 1; next_record(text, position, format, fields, storage); ++record) {
    if (record == 1) {
      guesses.resize(fields.size());
      for (std::size_t i = 0; i < fields.size(); ++i) {
        table.columns.push_back({format.header ? column_name(fields[i]) : fmt::format("c{}", i + 1), {}});
      }
      if (format.header) continue;
    }
    if (fields.size() != guesses.size()) {
      return invalid(
          fmt::format("record {} has {} fields, the first one {}", record, fields.size(), guesses.size()));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) guesses[i].see(fields[i]);
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (!names.insert(table.columns[i].name).second) {
      return invalid(fmt::format("two columns are named {}", table.columns[i].name));
    }
    table.columns[i].type = guesses[i].type();
  }
  if (table.columns.empty()) return invalid("no columns");
  return table;
}

Status import_csv(const CsvOptions& options) {
  Result<MappedFile> file = MappedFile::open(options.path);
  if (!file.ok()) return std::move(file).error();
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  std::error_code code;
  std::filesystem::create_directories(options.directory, code);
  if (code)
    return os_error(fmt::format("cannot make {}: {}", options.directory, code.message()), code.value());
  DelimitedFormat format{options.delimiter, false, options.header, true};
  std::string name =
      options.table.empty() ? std::filesystem::path(options.path).stem().string() : options.table;
  Result<TableDefinition> table = infer_table(text, name, format);
  if (!table.ok()) return in_context(options.path + ": ", table.error());
  Result<std::vector<RowGroup>> groups =
      parse_delimited(text, options.path, table->columns, format, options.threads, {});
  if (!groups.ok()) return std::move(groups).error();
  return write_table_file(fmt::format("{}/{}.weft", options.directory, table->name), *table, *groups,
                          options.threads);
}

}  // namespace tailor::weft
