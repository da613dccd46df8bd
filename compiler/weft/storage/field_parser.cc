#include "compiler/weft/storage/field_parser.h"

#include <chrono>

#include "compiler/weft/types/value.h"

namespace tailor::weft {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Appends the digits of `text` to `value`; false on overflow or another character.
bool append_digits(std::string_view text, std::int64_t& value) {
  for (char c : text) {
    if (!is_digit(c) || __builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, std::int64_t{c - '0'}, &value)) {
      return false;
    }
  }
  return true;
}

bool take_sign(std::string_view& text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  bool negative = text[0] == '-';
  text.remove_prefix(1);
  return negative;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  bool negative = take_sign(text);
  std::int64_t value = 0;
  if (text.empty() || !append_digits(text, value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_decimal(std::string_view text, unsigned scale) {
  bool negative = take_sign(text);
  std::size_t point = text.find('.');
  std::string_view whole = text.substr(0, point);
  std::string_view fraction = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  while (fraction.size() > scale && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.size() > scale || (whole.empty() && fraction.empty())) return std::nullopt;
  std::int64_t value = 0;
  if (!append_digits(whole, value) || !append_digits(fraction, value)) return std::nullopt;
  for (std::size_t i = fraction.size(); i < scale; ++i) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_bool(std::string_view text) {
  if (text == "true" || text == "t" || text == "1") return 1;
  if (text == "false" || text == "f" || text == "0") return 0;
  return std::nullopt;
}

std::optional<std::int64_t> parse_field(std::string_view text, const ColumnType& type) {
  switch (type.kind) {
    case ColumnKind::kInt32:
    case ColumnKind::kInt64:
      return parse_integer(text);
    case ColumnKind::kDecimal:
      return parse_decimal(text, type.scale);
    case ColumnKind::kDate:
      return parse_date(text);
    case ColumnKind::kBool:
      return parse_bool(text);
    case ColumnKind::kChar:
    case ColumnKind::kVarchar:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tailor::weft
