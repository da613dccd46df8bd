// Names in text formats.
#pragma once

#include <string>
#include <string_view>

namespace tailor::formats {

// A JSON string, in quotes.
std::string json_text(std::string_view text);

// "a,b,c" of what `of` gives for each.
template <typename Range, typename Of>
void append_list(std::string& out, const Range& range, Of of) {
  bool first = true;
  for (const auto& each : range) {
    if (!first) out += ',';
    first = false;
    of(out, each);
  }
}

}  // namespace tailor::formats
