#include "compiler/weft/storage/delimited_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "compiler/weft/storage/field_parser.h"
#include "compiler/weft/storage/parallel.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

// Cuts at line ends. Quoted text may hold line ends, so it stays in one piece.
std::vector<std::string_view> split_into_pieces(std::string_view text, bool quotes) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t cut = text.size();
    if (!quotes && text.size() > kPieceBytes) {
      std::size_t end = text.find('\n', kPieceBytes);
      if (end != std::string_view::npos) cut = end + 1;
    }
    pieces.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  return pieces;
}

// Takes a quoted field that starts at `position` (its opening quote) and leaves `position` behind the
// closing one.
std::string take_quoted(std::string_view text, std::size_t& position) {
  std::string field;
  for (++position; position < text.size(); ++position) {
    if (text[position] == '"') {
      if (position + 1 >= text.size() || text[position + 1] != '"') break;
      ++position;
    }
    field.push_back(text[position]);
  }
  if (position < text.size()) ++position;
  return field;
}

class PieceParser {
 public:
  PieceParser(std::span<const ColumnDefinition> columns, const DelimitedFormat& format)
      : columns_(columns), format_(format) {}

  // The row group, or an error without its place.
  Result<RowGroup> parse(std::string_view piece) {
    RowGroup group;
    for (const ColumnDefinition& column : columns_) group.emplace_back(column.type);
    std::size_t position = 0;
    std::vector<std::string_view> fields;
    std::vector<std::string> storage;
    while (true) {
      record_begin_ = position;
      if (!next_record(piece, position, format_, fields, storage)) break;
      if (std::optional<Error> error = append(fields, group)) return *std::move(error);
    }
    for (ColumnChunk& chunk : group) chunk.seal();
    return group;
  }

  // Where the failing record begins, in the piece.
  std::size_t record_begin() const { return record_begin_; }

 private:
  std::optional<Error> append(const std::vector<std::string_view>& fields, RowGroup& group) {
    if (fields.size() != columns_.size()) {
      return invalid(fmt::format("{} fields where {} are expected", fields.size(), columns_.size()));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const ColumnType& type = columns_[i].type;
      std::string_view field = fields[i];
      if (field.empty() && type.nullable) {
        group[i].append_null();
      } else if (type.kind == ColumnKind::kChar || type.kind == ColumnKind::kVarchar) {
        group[i].append_text(field);
      } else if (std::optional<std::int64_t> value = parse_field(field, type)) {
        group[i].append_integer(*value);
      } else {
        return invalid(fmt::format("column {} cannot hold '{}'", columns_[i].name, field));
      }
    }
    return std::nullopt;
  }

  std::span<const ColumnDefinition> columns_;
  const DelimitedFormat& format_;
  std::size_t record_begin_ = 0;
};

}  // namespace

bool next_record(std::string_view text, std::size_t& position, const DelimitedFormat& format,
                 std::vector<std::string_view>& fields, std::vector<std::string>& storage) {
  fields.clear();
  storage.clear();
  if (position >= text.size()) return false;
  if (!format.quotes) {
    const char* line_end =
        static_cast<const char*>(std::memchr(text.data() + position, '\n', text.size() - position));
    std::size_t end = line_end == nullptr ? text.size() : static_cast<std::size_t>(line_end - text.data());
    std::string_view line = text.substr(position, end - position);
    position = std::min(end + 1, text.size());
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (format.trailing_delimiter && !line.empty() && line.back() == format.delimiter) line.remove_suffix(1);
    while (true) {
      const char* found = static_cast<const char*>(std::memchr(line.data(), format.delimiter, line.size()));
      if (found == nullptr) break;
      std::size_t size = static_cast<std::size_t>(found - line.data());
      fields.push_back(line.substr(0, size));
      line.remove_prefix(size + 1);
    }
    fields.push_back(line);
    return true;
  }
  // Views into `storage` are taken once it no longer grows: remember which field is which text.
  std::vector<std::size_t> quoted;
  while (true) {
    if (position < text.size() && text[position] == '"') {
      storage.push_back(take_quoted(text, position));
      quoted.push_back(fields.size());
      fields.emplace_back();
    } else {
      std::size_t end = position;
      while (end < text.size() && text[end] != format.delimiter && text[end] != '\n') ++end;
      std::string_view field = text.substr(position, end - position);
      if (!field.empty() && field.back() == '\r') field.remove_suffix(1);
      fields.push_back(field);
      position = end;
    }
    while (position < text.size() && text[position] == '\r') ++position;
    if (position >= text.size()) break;
    if (text[position++] == '\n') break;
  }
  for (std::size_t i = 0; i < quoted.size(); ++i) fields[quoted[i]] = storage[i];
  return true;
}

Result<std::vector<RowGroup>> parse_delimited(std::string_view text, const std::string& source,
                                              std::span<const ColumnDefinition> columns,
                                              const DelimitedFormat& format, unsigned threads,
                                              const std::function<void(std::size_t)>& progress) {
  std::string_view rows = text;
  if (format.header) {
    std::size_t position = 0;
    std::vector<std::string_view> fields;
    std::vector<std::string> storage;
    next_record(text, position, format, fields, storage);
    rows.remove_prefix(position);
  }
  std::vector<std::string_view> pieces = split_into_pieces(rows, format.quotes);
  std::vector<RowGroup> groups(pieces.size());
  std::mutex mutex;
  std::size_t failed_at = text.size();  // the earliest failure is the one reported
  std::optional<Error> failure;
  parallel_for(pieces.size(), threads, [&](std::size_t i) {
    PieceParser parser(columns, format);
    Result<RowGroup> group = parser.parse(pieces[i]);
    if (group.ok()) {
      groups[i] = std::move(*group);
    } else {
      std::lock_guard lock(mutex);
      std::size_t at = static_cast<std::size_t>(pieces[i].data() - text.data()) + parser.record_begin();
      if (!failure || at < failed_at) {
        failed_at = at;
        failure = group.error();
      }
    }
    if (progress) progress(pieces[i].size());
  });
  if (failure) {
    auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(failed_at), '\n') + 1;
    return in_context(fmt::format("{}, line {}: ", source, line), *failure);
  }
  return groups;
}

}  // namespace tailor::weft
