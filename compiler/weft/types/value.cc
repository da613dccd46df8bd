#include "compiler/weft/types/value.h"

#include <fmt/format.h>

#include <chrono>

namespace tailor::weft {

std::string to_string(const Value& value) {
  if (value.null) return "null";
  switch (value.type.id) {
    case TypeId::kBool:
      return value.integer != 0 ? "true" : "false";
    case TypeId::kInt32:
    case TypeId::kInt64:
      return to_string(value.integer);
    case TypeId::kDecimal:
      return to_string(value.integer, value.type.scale);
    case TypeId::kDate:
      return date_to_string(static_cast<std::int32_t>(value.integer));
    case TypeId::kChar1:
      return fmt::format("'{}'", static_cast<char>(value.integer));
    case TypeId::kString:
      return fmt::format("'{}'", value.text);
  }
  __builtin_unreachable();
}

std::int32_t days_of(int year, int month, int day) {
  using namespace std::chrono;
  return static_cast<std::int32_t>(
      sys_days(std::chrono::year(year) / month / day).time_since_epoch().count());
}

CivilDate civil_of(std::int32_t days) {
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return {static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day()))};
}

std::optional<std::int32_t> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return {};
  int parts[3] = {};
  const std::size_t starts[] = {0, 5, 8}, ends[] = {4, 7, 10};
  for (int part = 0; part < 3; ++part) {
    for (std::size_t i = starts[part]; i < ends[part]; ++i) {
      if (text[i] < '0' || text[i] > '9') return {};
      parts[part] = parts[part] * 10 + (text[i] - '0');
    }
  }
  std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                   std::chrono::month(static_cast<unsigned>(parts[1])),
                                   std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (!date.ok()) return {};
  return days_of(parts[0], parts[1], parts[2]);
}

std::string date_to_string(std::int32_t days) {
  CivilDate date = civil_of(days);
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

}  // namespace tailor::weft
