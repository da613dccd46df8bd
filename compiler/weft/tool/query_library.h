// The queries that come with weft, by name.
#pragma once

#include <span>
#include <string_view>

namespace tailor::weft {

struct NamedQuery {
  std::string_view name;  // "tpch-1" ... "tpch-22", "figure-9", "sfja"
  std::string_view sql;
};

std::span<const NamedQuery> query_library();
// nullptr if there is none of that name.
const NamedQuery* find_query(std::string_view name);

}  // namespace tailor::weft
