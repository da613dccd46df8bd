// Bytes as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tailor {

// Two lower-case digits for each byte.
inline std::string hex_text(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte each : bytes) {
    const auto value = std::to_integer<unsigned>(each);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

// -1: it is no hexadecimal digit.
constexpr int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// Two digits of `text` for each byte of `to`. False: the text is not that, and `to` may be written in part.
constexpr bool read_hex(std::string_view text, std::span<std::byte> to) {
  if (text.size() != 2 * to.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

}  // namespace tailor
