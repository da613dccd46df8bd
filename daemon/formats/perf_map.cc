#include "daemon/formats/perf_map.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace tailor::formats {
namespace {

constexpr std::string_view kBlanks = " \t";

void skip_blanks(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
}

// A hexadecimal number, with or without 0x, up to the next blank; moves `line` behind all blanks there.
std::optional<std::uint64_t> take_hex(std::string_view& line) {
  skip_blanks(line);
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty() || kBlanks.find(line.front()) == std::string_view::npos) return std::nullopt;
  skip_blanks(line);
  return value;
}

std::optional<JitSymbol> parse_line(std::string_view line) {
  auto address = take_hex(line);
  if (!address) return std::nullopt;
  auto size = take_hex(line);
  if (!size || line.empty()) return std::nullopt;
  if (*size == 0 || *size > kMaxMappedCode || *address > UINT64_MAX - *size) return std::nullopt;
  JitSymbol symbol;
  symbol.address = *address;
  symbol.size = *size;
  symbol.name = line.substr(0, kMaxJitName);
  return symbol;
}

}  // namespace

JitSymbols parse_perf_map(std::string_view text, std::size_t& used, bool whole) {
  JitSymbols result;
  used = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && !whole) {
      // The writer is in the middle of this line: it is not wrong, only not there yet.
      result.cut = true;
      break;
    }
    std::string_view line = text.substr(0, end);
    const std::size_t taken = std::min(line.size() + 1, text.size());
    text.remove_prefix(taken);
    used += taken;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    auto symbol = parse_line(line);
    if (!symbol || result.symbols.size() >= kMaxJitSymbols) {
      ++result.malformed;
      continue;
    }
    result.symbols.push_back(*std::move(symbol));
  }
  return result;
}

}  // namespace tailor::formats
