#include "viewer/cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "proto/base/harmful.h"

namespace tailor::cli {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 1;
  bool valid = false;
};

// The character at the start of `text`, which is not empty.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xC2 && lead < 0xE0   ? 2
                           : (lead & 0xF0) == 0xE0       ? 3
                           : lead >= 0xF0 && lead < 0xF5 ? 4
                                                         : 0;
  if (size == 0 || size > text.size()) return {lead, 1, false};
  std::uint32_t code = lead & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return {lead, 1, false};
  return {code, size, true};
}

struct Range {
  std::uint32_t first, last;
};

template <std::size_t n>
bool in(const Range (&ranges)[n], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& r) { return code >= r.first && code <= r.last; });
}

constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF}, {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},  {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

std::size_t width_of(std::uint32_t code) {
  if (in(kCombining, code)) return 0;
  return in(kWide, code) ? 2 : 1;
}

}  // namespace

std::string escape(std::string_view text, bool ascii) {
  std::string out;
  // A long row of combining marks would climb over the lines above.
  int combining = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    combining = c.valid && in(kCombining, c.code) ? combining + 1 : 0;
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", c.code);
    } else if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (is_harmful(c.code) || combining > 4 || (ascii && c.code > 0x7E)) {
      out += c.code < 0x100 ? fmt::format("\\x{:02x}", c.code) : fmt::format("\\u{{{:x}}}", c.code);
    } else {
      out.append(text.substr(0, c.size));
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::string harmless_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool ended = end < text.size(), with_return = ended && line.ends_with('\r');
    if (with_return) line.remove_suffix(1);
    out += escape(line, false);
    if (ended) out += with_return ? "\r\n" : "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string harmless_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Character c = decode(json);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.code >= 0x20 && is_harmful(c.code)) {
      // Only strings have such characters.
      const std::uint32_t high = (c.code - 0x10000) >> 10, low = (c.code - 0x10000) & 0x3FF;
      out += c.code < 0x10000 ? fmt::format("\\u{:04x}", c.code)
                              : fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + high, 0xDC00 + low);
    } else {
      out.append(json.substr(0, c.size));
    }
    json.remove_prefix(c.size);
  }
  return out;
}

std::string escape_line(std::string_view text, bool ascii) {
  std::string flat;
  for (char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
    if (!space) {
      flat += c;
    } else if (!flat.empty() && flat.back() != ' ') {
      flat += ' ';
    }
  }
  while (!flat.empty() && flat.back() == ' ') flat.pop_back();
  return escape(flat, ascii);
}

std::string sql_line(std::string_view sql, bool ascii) {
  std::string without_comments;
  while (!sql.empty()) {
    const std::size_t end = std::min(sql.find('\n'), sql.size());
    const std::string_view line = sql.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t");
    const bool comment = first != std::string_view::npos && line.substr(first).starts_with("--");
    if (!comment) without_comments.append(line).append(" ");
    sql.remove_prefix(std::min(end + 1, sql.size()));
  }
  return escape_line(without_comments, ascii);
}

std::size_t columns(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    width += width_of(c.code);
    text.remove_prefix(c.size);
  }
  return width;
}

std::string cut(std::string_view text, std::size_t width, bool ascii) {
  if (columns(text) <= width) return std::string(text);
  const std::string_view mark = ascii ? "..." : "…";
  const std::size_t mark_width = ascii ? 3 : 1;
  if (width <= mark_width) return std::string(width, '.');
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    used += width_of(c.code);
    if (used > width - mark_width) break;
    out.append(text.substr(0, c.size));
    text.remove_prefix(c.size);
  }
  return out.append(mark);
}

namespace {

// The length of the colour at the start of `text`; 0: there is none.
std::size_t colour_size(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string without_colours(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const std::size_t colour = colour_size(line);
    if (colour == 0) out += line.front();
    line.remove_prefix(std::max<std::size_t>(colour, 1));
  }
  return out;
}

void add_fitting(std::string_view line, std::size_t width, bool ascii, std::string& out) {
  if (columns(without_colours(line)) <= width) {
    out += line;
    return;
  }
  const std::string_view mark = ascii ? "..." : "…";
  const std::size_t mark_width = ascii ? 3 : 1;
  std::size_t used = 0;
  bool full = false;
  while (!line.empty()) {
    const std::size_t colour = colour_size(line);
    const Character c = decode(line);
    const std::size_t size = colour > 0 ? colour : c.size;
    if (colour > 0) {
      out += line.substr(0, size);
    } else if (!full && used + width_of(c.code) + mark_width > width) {
      full = true;
      out += mark;
    } else if (!full) {
      used += width_of(c.code);
      out += line.substr(0, size);
    }
    line.remove_prefix(size);
  }
}

}  // namespace

std::string fit(std::string_view lines, std::size_t width, bool ascii) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    add_fitting(lines.substr(0, end), width, ascii, out);
    if (end < lines.size()) out += '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string pad(std::string_view text, std::size_t width) {
  const std::size_t have = columns(text);
  return std::string(text).append(have < width ? width - have : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = columns(text);
  return std::string(have < width ? width - have : 0, ' ').append(text);
}

std::size_t number_width(double largest, std::size_t least) {
  constexpr double kMost = 1e18;  // more than any count
  const auto number = static_cast<std::uint64_t>(std::llround(std::clamp(largest, 0.0, kMost)));
  return std::max(least, columns(grouped(number)) + 2);
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;  // columns of the line so far
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    // A per cent sign stays with its number.
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t word_width = columns(word);
    if (used > 0 && indent + used + 1 + word_width > width) {
      out += '\n';
      used = 0;
    }
    if (used > 0) {
      out += ' ';
      ++used;
    } else {
      out.append(indent, ' ');
    }
    out.append(word);
    used += word_width;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string duration(double ns) {
  // What would be rounded to 1000 is given in the next unit.
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  const auto [scale, unit] = ns < 999.5e3   ? std::pair(1e3, "us")
                             : ns < 999.5e6 ? std::pair(1e6, "ms")
                                            : std::pair(1e9, "s");
  const double value = ns / scale;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::string percent(double share) {
  const double value = share * 100;
  if (value > 0 && value < 0.05) return "<0.1 %";
  return fmt::format("{:.1f} %", value);
}

std::string at_least(const std::string& text, bool ascii) {
  return (ascii ? "> " : "\u2265 ") + text;
}

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace tailor::cli
