// Shares as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::config {

// "1%" or "0.5 %" as a share: 0.01, 0.005. An error for anything that is not a percentage above 0 and below
// 100.
Result<double> parse_percentage(std::string_view text);

// "1/8", "12.5%", or "0" for none and "all", in millionths. An error for anything else, and for a share that
// is below one millionth.
Result<std::uint32_t> parse_share(std::string_view text);

}  // namespace tailor::config
