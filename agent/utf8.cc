#include "agent/utf8.h"

#include <cstddef>
#include <cstdint>

namespace tailor::agent {

namespace {

// Length of the well-formed sequence at the start of `text` (not empty), 0 if there is none.
std::size_t SequenceLength(std::span<const char> text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  std::uint8_t second = byte(1);
  bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool surrogate = first == 0xED && second >= 0xA0;
  bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

void SanitizeUtf8(std::span<char> text) noexcept {
  while (!text.empty()) {
    std::size_t length = SequenceLength(text);
    if (length == 0) {
      text[0] = '?';
      length = 1;
    }
    text = text.subspan(length);
  }
}

}  // namespace tailor::agent
