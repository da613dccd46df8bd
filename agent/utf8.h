// Text for protobuf strings.
#pragma once

#include <span>

namespace tailor::agent {

// Replaces every byte that is not part of well-formed UTF-8 by '?', in place.
void sanitize_utf8(std::span<char> text) noexcept;

}  // namespace tailor::agent
