// A constant of any type, outside of generated code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/weft/types/type.h"

namespace tailor::weft {

struct Value {
  Type type;
  bool null = false;
  Int128 integer = 0;  // bool (0 or 1), integers, decimals (scaled), dates (days), char(1) (the byte)
  std::string text;    // strings

  static Value null_of(Type type) { return {type.with_null(true), true, 0, {}}; }
  static Value boolean(bool value) { return {Type::boolean(), false, value ? 1 : 0, {}}; }
  static Value int64(std::int64_t value) { return {Type::int64(), false, value, {}}; }
  static Value of(Type type, Int128 value) { return {type, false, value, {}}; }
  static Value string(std::string value) { return {Type::string(), false, 0, std::move(value)}; }

  bool operator==(const Value&) const = default;
};

// For people: 1998-09-02, 0.05, 'BUILDING', null.
std::string to_string(const Value& value);

// Days since 1970-01-01 of "YYYY-MM-DD" in the proleptic Gregorian calendar; nothing when it is no date.
std::optional<std::int32_t> parse_date(std::string_view text);
std::int32_t days_of(int year, int month, int day);
struct CivilDate {
  int year;
  int month;
  int day;
};
CivilDate civil_of(std::int32_t days);
std::string date_to_string(std::int32_t days);

}  // namespace tailor::weft
