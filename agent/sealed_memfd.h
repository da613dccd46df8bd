// Memory files for what is too large for a packet, or shared.
#pragma once

#include <span>

namespace tailor::agent {

// A memfd that can be sealed, or -1 with errno.
int CreateMemfd(const char* name) noexcept;

// A memfd with these bytes, sealed against every change, or -1 with errno. The caller closes it.
int MakeSealedMemfd(std::span<const char> bytes) noexcept;

}  // namespace tailor::agent
