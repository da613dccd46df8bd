#include "agent/utf8.h"

#include "proto/base/utf8.h"

namespace tailor::agent {

void sanitize_utf8(std::span<char> text) noexcept {
  while (!text.empty()) {
    std::size_t length = utf8_sequence_length({text.data(), text.size()});
    if (length == 0) {
      text[0] = '?';
      length = 1;
    }
    text = text.subspan(length);
  }
}

}  // namespace tailor::agent
