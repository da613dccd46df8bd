// Shares as people write them.
#pragma once

#include <string_view>

#include "proto/base/result.h"

namespace tailor::config {

// "1%" or "0.5 %" as a share: 0.01, 0.005. An error for anything that is not a percentage above 0 and below
// 100.
Result<double> parse_percentage(std::string_view text);

}  // namespace tailor::config
