#include "compiler/weft/sql/sql_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::weft {

Error sql_error(std::string_view sql, int location, const std::string& message) {
  if (location < 0 || static_cast<std::size_t>(location) > sql.size()) return {message};
  std::string_view before = sql.substr(0, static_cast<std::size_t>(location));
  auto line = std::count(before.begin(), before.end(), '\n') + 1;
  std::size_t last_break = before.rfind('\n');
  std::size_t column = before.size() - (last_break == std::string_view::npos ? 0 : last_break + 1) + 1;
  return {fmt::format("line {}, column {}: {}", line, column, message)};
}

}  // namespace tailor::weft
