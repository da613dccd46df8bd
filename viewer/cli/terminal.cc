#include "viewer/cli/terminal.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tailor::cli {
namespace {

constexpr std::size_t kMinWidth = 40, kMaxWidth = 400;

std::size_t output_width(bool is_terminal) {
  winsize size{};
  if (is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long given = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return given > 0 ? static_cast<std::size_t>(given) : 120;
}

}  // namespace

namespace {

Terminal look() {
  Terminal out;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  out.is_terminal = is_terminal;
  out.colour = is_terminal && !dumb && (no_colour == nullptr || *no_colour == '\0');
  // The locale decides about characters only: numbers stay as programs expect them.
  if (std::setlocale(LC_CTYPE, "") != nullptr) out.ascii = std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
  out.width = std::clamp(output_width(is_terminal), kMinWidth, kMaxWidth);
  return out;
}

}  // namespace

Terminal Terminal::detect() {
  // Once: behind a pager standard output is a terminal no more.
  static const Terminal known = look();
  return known;
}

std::string Terminal::style(std::string_view code, std::string_view text) const {
  if (!colour || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Terminal::bar(double share, std::size_t bar_width) const {
  share = std::clamp(share, 0.0, 1.0);
  if (ascii) {
    const auto cells = static_cast<std::size_t>(std::lround(share * static_cast<double>(bar_width)));
    return std::string(cells, '#') + std::string(bar_width - cells, ' ');
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(bar_width * 8)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  const std::size_t used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return out.append(bar_width - used, ' ');
}

}  // namespace tailor::cli
