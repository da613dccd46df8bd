// Text for terminals: what comes from outside is made harmless, and columns are counted as they are seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tailor::cli {

// `text` with everything escaped that could move the cursor, hide or reorder what is shown: control
// characters, bidirectional overrides, invisible characters, bytes that are not UTF-8. With `ascii` every
// other character than printable ASCII too. Line breaks and tabs are escaped as well.
std::string escape(std::string_view text, bool ascii);

// Lines of text for programs, made harmless for a terminal: each as escape() has it, line ends as they are.
std::string harmless_lines(std::string_view text);
// The same of JSON, which stays the same JSON: what escape() would escape is written as \u009b.
std::string harmless_json(std::string_view json);

// For query texts: runs of white space become one space, then as escape().
std::string escape_line(std::string_view text, bool ascii);

// As escape_line(), without the lines that are comments as a whole.
std::string sql_line(std::string_view sql, bool ascii);

// How many columns `text`, which must be the result of escape(), takes.
std::size_t columns(std::string_view text);

// At most `width` columns of it; what is cut is marked by an ellipsis.
std::string cut(std::string_view text, std::size_t width, bool ascii);

// The same of each line, in which colours (escape sequences that end with "m") take no columns and stay
// whole.
std::string fit(std::string_view lines, std::size_t width, bool ascii);

// Filled up with spaces to `width` columns.
std::string pad(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
// Of a column of whole numbers up to `largest` with two spaces before it, `least` at least.
std::size_t number_width(double largest, std::size_t least);

// Breaks at spaces into lines of at most `width` columns, each indented by `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// "1.23 s", "45.0 ms", "812 ns".
std::string duration(double ns);
// "12 %", "9.8 %", "0.04 %" are given to one decimal, "< 0.1 %" where that would be 0.0 but is not.
std::string percent(double share);
// "≥ 1.23 s", in ASCII "> 1.23 s": what is known of it, and nobody knows whether there is more.
std::string at_least(const std::string& text, bool ascii);
// "812 B", "1.5 MiB".
std::string bytes_text(double bytes);
// "12,345".
std::string grouped(std::uint64_t number);

}  // namespace tailor::cli
