#include "agent/jvm/modified_utf8.h"

#include <cstddef>
#include <cstdint>

namespace tailor::jvm {
namespace {

constexpr std::size_t kSurrogateBytes = 3;

std::uint32_t byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0;
}

bool continues(std::uint32_t byte) {
  return (byte & 0xC0u) == 0x80;
}

// The surrogate that is encoded at `at`, 0: there is none.
std::uint32_t surrogate(std::string_view text, std::size_t at) {
  const std::uint32_t second = byte(text, at + 1), third = byte(text, at + 2);
  if (byte(text, at) != 0xED || second < 0xA0 || !continues(second) || !continues(third)) return 0;
  return 0xD000 | (second & 0x3Fu) << 6 | (third & 0x3Fu);
}

bool is_high(std::uint32_t surrogate) {
  return surrogate >= 0xD800 && surrogate < 0xDC00;
}

bool is_low(std::uint32_t surrogate) {
  return surrogate >= 0xDC00;
}

void append(std::string& out, std::uint32_t high, std::uint32_t low) {
  const std::uint32_t point = 0x10000 + ((high & 0x3FFu) << 10 | (low & 0x3FFu));
  out += static_cast<char>(0xF0u | point >> 18);
  out += static_cast<char>(0x80u | (point >> 12 & 0x3Fu));
  out += static_cast<char>(0x80u | (point >> 6 & 0x3Fu));
  out += static_cast<char>(0x80u | (point & 0x3Fu));
}

}  // namespace

std::string from_modified_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (byte(text, at) == 0xC0 && byte(text, at + 1) == 0x80) {
      out += '?';
      at += 2;
      continue;
    }
    const std::uint32_t first = surrogate(text, at);
    if (first == 0) {
      out += text[at++];
      continue;
    }
    at += kSurrogateBytes;
    const std::uint32_t second = surrogate(text, at);
    if (is_high(first) && is_low(second)) {
      append(out, first, second);
      at += kSurrogateBytes;
    } else {
      out += '?';
    }
  }
  return out;
}

}  // namespace tailor::jvm
