// The text of a query, and where it stands in the text that it was taken from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tailor::weft {

struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;  // in bytes

  bool operator==(const TextPlace&) const = default;
};

// The place behind `passed`, which begins at `begin`.
inline TextPlace place_after(TextPlace begin, std::string_view passed) {
  std::size_t last_break = passed.rfind('\n');
  if (last_break == std::string_view::npos) return {begin.line, begin.column + passed.size()};
  auto breaks = static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
  return {begin.line + breaks, passed.size() - last_break};
}

struct QueryText {
  QueryText() = default;
  // Any text is a query that stands by itself.
  // NOLINTNEXTLINE(google-explicit-constructor)
  QueryText(std::string of_query, TextPlace at = {}) : text(std::move(of_query)), begin(at) {}
  QueryText(const char* of_query) : text(of_query) {}  // NOLINT(google-explicit-constructor)

  std::string text;
  TextPlace begin;  // of the first byte; errors name places from there on

  bool operator==(const QueryText&) const = default;
};

}  // namespace tailor::weft
