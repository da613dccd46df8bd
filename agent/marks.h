// Marks that others than the thread itself make.
#pragma once

#include <cstdint>

#include "agent/thread_area.h"

namespace tailor::agent {

// A record in the log of the area's thread, and the new state in its slot. By the writer of its log.
void mark_in(ThreadArea& area, std::uint16_t kind, std::uint32_t id, std::uint64_t a,
             std::uint64_t b) noexcept;

// The area's thread works for the execution from now on. By the writer of its log.
void mark_execution_begin(ThreadArea& area, std::uint64_t execution, std::uint64_t plan_id) noexcept;

}  // namespace tailor::agent
