// Patterns of names.
#pragma once

#include <string_view>

namespace tailor::query {

// Whether `text` is what `pattern` describes: "*" stands for any text. Linear in both for patterns with few
// "*". Pure.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace tailor::query
