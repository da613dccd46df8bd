// Errors in SQL text, with their place.
#pragma once

#include <string>

#include "compiler/weft/plan/query_text.h"
#include "proto/base/result.h"

namespace tailor::weft {

// "line 2, column 7: message"; without a place (location < 0 or past the end) only the message. The location
// counts bytes of the query's text; lines and columns count from the beginning of the text that it was taken
// from.
Error sql_error(const QueryText& sql, int location, const std::string& message);

}  // namespace tailor::weft
