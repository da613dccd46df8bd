// A report as one file of HTML: the web page with its data in it (docs/viewer.md).
#pragma once

#include <string>
#include <string_view>

#include "daemon/query/json/json_parts.h"
#include "proto/base/result.h"

namespace tailor::cli {

// `page` with `bundle` (docs/http-api.md) in the place that it has for it: compacted, compressed, and in
// letters that cannot end the element that holds them. Fails if the page does not have the place exactly
// once, and, saying what to do, if it is empty: tailor was built without it.
Result<std::string> html_report(std::string_view page, query::Json bundle);

}  // namespace tailor::cli
