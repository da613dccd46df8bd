// Start, stop and fork of the one agent of a process.
#pragma once

#include <tailor/agent.h>

#include <cstdint>

namespace tailor::agent {

int start(const tailor_agent_options* options) noexcept;
void stop(std::uint32_t timeout_ms) noexcept;

}  // namespace tailor::agent
