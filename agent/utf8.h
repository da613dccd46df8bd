// Text for protobuf strings.
#pragma once

#include <span>

namespace tailor::agent {

// Replaces every byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF) by '?', in place.
void SanitizeUtf8(std::span<char> text) noexcept;

}  // namespace tailor::agent
