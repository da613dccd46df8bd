// Tailor's own agent in an engine.
#pragma once

#include <cstdint>

namespace tailor::query {

// The engine component that the agent is, as of process_state.h. It waits for messages nearly always: that is
// no wait of the engine.
inline constexpr std::uint32_t kOwnAgent = 0xFFFF'FFFF;

}  // namespace tailor::query
