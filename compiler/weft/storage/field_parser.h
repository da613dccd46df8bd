// Text of one field to the integer that is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/weft/storage/column.h"

namespace tailor::weft {

// Each gives nothing when the text is not exactly such a value or does not fit 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);
// "-12.3" at scale 2 is -1230. More digits after the point than `scale` are refused unless they are zeros.
std::optional<std::int64_t> parse_decimal(std::string_view text, unsigned scale);
// "true", "t", "1", "false", "f", "0".
std::optional<std::int64_t> parse_bool(std::string_view text);
// Whichever `type` asks for; texts are not integers and give nothing.
std::optional<std::int64_t> parse_field(std::string_view text, const ColumnType& type);

}  // namespace tailor::weft
