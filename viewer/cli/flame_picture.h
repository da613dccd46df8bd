// A flame graph as an element of SVG (Gregg, "The Flame Graph", CACM 2016): the whole at the bottom, what it
// is made of above.
#pragma once

#include <string>
#include <string_view>

#include "daemon/query/reports/flame.h"

namespace tailor::cli {

// Whether a node is wide enough to be seen.
bool is_drawn(const query::FlameReport& report, const query::FlameNode& node);

// `with_names`: each box has its whole name as the attribute data-name.
std::string flame_picture(const query::FlameReport& report, const std::string& title, bool with_names);

// `text` made harmless (text.h), as XML and HTML write it.
std::string xml(std::string_view text);

}  // namespace tailor::cli
