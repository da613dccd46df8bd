#include "compiler/weft/sql/sql_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tailor::weft {

Error sql_error(const QueryText& sql, int location, const std::string& message) {
  if (location < 0 || static_cast<std::size_t>(location) > sql.text.size()) return {message};
  TextPlace place =
      place_after(sql.begin, std::string_view(sql.text).substr(0, static_cast<std::size_t>(location)));
  return {fmt::format("line {}, column {}: {}", place.line, place.column, message)};
}

}  // namespace tailor::weft
