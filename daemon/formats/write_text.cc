#include "daemon/formats/write_text.h"

#include <fmt/format.h>

#include "proto/base/utf8.h"

namespace tailor::formats {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : replace_non_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tailor::formats
