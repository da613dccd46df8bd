// A report as one file of HTML: the web page with its data in it (docs/viewer.md).
#pragma once

#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::cli {

// `page` with `bundle` (valid JSON, docs/http-api.md) in the place that it has for it. Every "<" of the
// bundle is written as \u003c, so no name in it can end the element that holds the data. Fails if the page
// does not have the place exactly once, and, saying what to do, if it is empty: tailor was built without it.
Result<std::string> html_report(std::string_view page, std::string_view bundle);

}  // namespace tailor::cli
