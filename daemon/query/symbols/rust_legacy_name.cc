#include "daemon/query/symbols/rust_legacy_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

namespace tailor::query {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_small_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool is_of_a_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         c == '.' || c == ':';
}

bool is_hash(std::string_view element) {
  constexpr std::size_t kDigits = 16, kFewestDifferent = 5;
  if (element.size() != 1 + kDigits || element[0] != 'h') return false;
  element.remove_prefix(1);
  if (!std::ranges::all_of(element, is_small_hex)) return false;
  std::string digits(element);
  std::ranges::sort(digits);
  return static_cast<std::size_t>(std::ranges::unique(digits).begin() - digits.begin()) >= kFewestDifferent;
}

// The next element of the path; moves `text` behind it. "" where there is none.
std::string_view take_element(std::string_view& text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || text[0] == '0' || !is_digit(text[0]) || error != std::errc{}) return {};
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (size > rest.size()) return {};
  const std::string_view element = rest.substr(0, size);
  if (!std::ranges::all_of(element, is_of_a_name)) return {};
  text = rest.substr(size);
  return element;
}

bool add_utf8(std::string& out, std::uint32_t c) {
  const auto more = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  if (control || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) return false;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    more(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    more(6);
    more(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    more(12);
    more(6);
    more(0);
  }
  return true;
}

// What is between two "$". False: it is no escape.
bool add_escape(std::string& out, std::string_view escape) {
  using Escape = std::pair<std::string_view, char>;
  constexpr std::array<Escape, 8> kNamed{{{"SP", '@'},
                                          {"BP", '*'},
                                          {"RF", '&'},
                                          {"LT", '<'},
                                          {"GT", '>'},
                                          {"LP", '('},
                                          {"RP", ')'},
                                          {"C", ','}}};
  const auto* named = std::ranges::find(kNamed, escape, &Escape::first);
  if (named != kNamed.end()) {
    out += named->second;
    return true;
  }
  if (!escape.starts_with('u')) return false;
  const std::string_view digits = escape.substr(1);
  if (digits.empty() || !std::ranges::all_of(digits, is_small_hex)) return false;
  std::uint32_t c = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
  return error == std::errc{} && add_utf8(out, c);
}

void add_element(std::string& out, std::string_view element) {
  // An escape cannot begin an identifier.
  if (element.starts_with("_$")) element.remove_prefix(1);
  while (!element.empty()) {
    if (element.starts_with("..")) {
      out += "::";
      element.remove_prefix(2);
    } else if (element[0] == '$') {
      const std::size_t end = element.find('$', 1);
      if (end == std::string_view::npos || !add_escape(out, element.substr(1, end - 1))) break;
      element.remove_prefix(end + 1);
    } else {
      out += element[0];
      element.remove_prefix(1);
    }
  }
  out += element;
}

}  // namespace

std::optional<RustLegacyName> rust_legacy_name(std::string_view mangled) {
  constexpr std::string_view kBegin = "_ZN";
  if (!mangled.starts_with(kBegin)) return std::nullopt;
  mangled.remove_prefix(kBegin.size());
  std::vector<std::string_view> path;
  while (!mangled.starts_with('E')) {
    const std::string_view element = take_element(mangled);
    if (element.empty()) return std::nullopt;
    path.push_back(element);
  }
  mangled.remove_prefix(1);
  // A function of C++ has its parameters here.
  if (!mangled.empty() && mangled[0] != '.') return std::nullopt;
  if (path.size() < 2 || !is_hash(path.back())) return std::nullopt;
  path.pop_back();
  RustLegacyName out{{}, mangled};
  for (const std::string_view element : path) {
    if (!out.name.empty()) out.name += "::";
    add_element(out.name, element);
  }
  return out;
}

}  // namespace tailor::query
