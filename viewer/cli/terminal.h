// What the output can show: colours, line drawing, width.
#pragma once

#include <string>
#include <string_view>

namespace tailor::cli {

struct Terminal {
  bool is_terminal = false;  // also where a pager stands before it
  bool colour = false;
  bool ascii = true;  // no characters outside ASCII
  std::size_t width = 120;

  // For standard output: colours only on a terminal and without NO_COLOR (no-color.org) or TERM=dumb; line
  // drawing where the locale's character set is UTF-8; the width of the terminal, else COLUMNS, else 120.
  static Terminal detect();

  // `text` in that style, or as it is without colours. Pad before: escape sequences take no columns.
  std::string bold(std::string_view text) const { return style("1", text); }
  std::string dim(std::string_view text) const { return style("2", text); }
  std::string warn(std::string_view text) const { return style("33", text); }
  std::string bar_colour(std::string_view text) const { return style("36", text); }

  // The part `share` of `width` columns.
  std::string bar(double share, std::size_t bar_width) const;

  std::string_view dash() const { return ascii ? "-" : "–"; }
  std::string_view dot() const { return ascii ? "|" : "·"; }
  std::string_view arrow() const { return ascii ? "->" : "→"; }
  std::string_view plus_minus() const { return ascii ? "+-" : "±"; }
  std::string_view branch() const { return ascii ? "|- " : "├─ "; }
  std::string_view last_branch() const { return ascii ? "`- " : "└─ "; }
  std::string_view trunk() const { return ascii ? "|  " : "│  "; }

 private:
  std::string style(std::string_view code, std::string_view text) const;
};

}  // namespace tailor::cli
