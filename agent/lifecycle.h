// Start, stop and fork of the one agent of a process.
#pragma once

#include <tailor/agent.h>

#include <cstdint>

namespace tailor::agent {

int Start(const tailor_agent_options* options) noexcept;
void Stop(std::uint32_t timeout_ms) noexcept;

}  // namespace tailor::agent
