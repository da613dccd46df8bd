// Errors in SQL text, with their place.
#pragma once

#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::weft {

// "line 2, column 7: message"; without a place (location < 0 or past the end) only the message.
Error sql_error(std::string_view sql, int location, const std::string& message);

}  // namespace tailor::weft
