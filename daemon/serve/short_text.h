// What engines say may be as long as they like: the start of it, where many texts are kept.
#pragma once

#include <string>
#include <string_view>

namespace tailor::serve {

// At most `most` bytes; no UTF-8 sequence is cut in two.
inline std::string short_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && most - end < 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

}  // namespace tailor::serve
