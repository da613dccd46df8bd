#include "compiler/weft/storage/field_parser.h"

#include <chrono>

namespace tailor::weft {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Appends the digits of `text` to `value`; false on overflow or another character.
bool AppendDigits(std::string_view text, std::int64_t& value) {
  for (char c : text) {
    if (!IsDigit(c) || __builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, std::int64_t{c - '0'}, &value)) {
      return false;
    }
  }
  return true;
}

bool TakeSign(std::string_view& text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  bool negative = text[0] == '-';
  text.remove_prefix(1);
  return negative;
}

}  // namespace

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  bool negative = TakeSign(text);
  std::int64_t value = 0;
  if (text.empty() || !AppendDigits(text, value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::int64_t> ParseDecimal(std::string_view text, unsigned scale) {
  bool negative = TakeSign(text);
  std::size_t point = text.find('.');
  std::string_view whole = text.substr(0, point);
  std::string_view fraction = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  while (fraction.size() > scale && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.size() > scale || (whole.empty() && fraction.empty())) return std::nullopt;
  std::int64_t value = 0;
  if (!AppendDigits(whole, value) || !AppendDigits(fraction, value)) return std::nullopt;
  for (std::size_t i = fraction.size(); i < scale; ++i) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> ParseDate(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  if (!AppendDigits(text.substr(0, 4), year) || !AppendDigits(text.substr(5, 2), month) ||
      !AppendDigits(text.substr(8, 2), day)) {
    return std::nullopt;
  }
  std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                   std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<std::int64_t> ParseBool(std::string_view text) {
  if (text == "true" || text == "t" || text == "1") return 1;
  if (text == "false" || text == "f" || text == "0") return 0;
  return std::nullopt;
}

std::optional<std::int64_t> ParseField(std::string_view text, const ColumnType& type) {
  switch (type.kind) {
    case ColumnKind::kInt32:
    case ColumnKind::kInt64:
      return ParseInteger(text);
    case ColumnKind::kDecimal:
      return ParseDecimal(text, type.scale);
    case ColumnKind::kDate:
      return ParseDate(text);
    case ColumnKind::kBool:
      return ParseBool(text);
    case ColumnKind::kChar:
    case ColumnKind::kVarchar:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tailor::weft
