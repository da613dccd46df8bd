// Whether a block that is to be written can be read.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/store/block.h"

namespace tailor::store {

// Whether a reader takes the message of the block apart within the budget that its bytes pay for, and the
// `before` bytes of the file before it. `header` is that of the packed block, `raw` its payload. Where that
// is not certain it is tried, which takes as long as to read the block. Any thread.
bool is_readable(const BlockHeader& header, std::string_view raw, std::uint64_t before = 0);

// The reason that is said where such a block is lost.
inline constexpr const char* kUnreadable = "to read a block would take more memory than its size allows";

}  // namespace tailor::store
