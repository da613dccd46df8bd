// Characters that a terminal, or a reader, is not to get from outside as they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace tailor {

// Controls (C0, DEL, C1), marks that change direction, what is invisible, private use and tags: they could
// move the cursor, hide or reorder what is shown.
inline bool is_harmful(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr std::array kHarmful = {
      Range{0x00, 0x1F},       Range{0x7F, 0x9F},     Range{0xAD, 0xAD},     Range{0x061C, 0x061C},
      Range{0x180E, 0x180E},   Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F},
      Range{0xE000, 0xF8FF},   Range{0xFE00, 0xFE0F}, Range{0xFEFF, 0xFEFF}, Range{0xFFF0, 0xFFFB},
      Range{0xE0000, 0x10FFFF}};
  return std::ranges::any_of(kHarmful, [code](const Range& r) { return code >= r.first && code <= r.last; });
}

// The character of a well-formed sequence of UTF-8 (utf8.h).
inline std::uint32_t utf8_character(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xFFu >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return code;
}

}  // namespace tailor
