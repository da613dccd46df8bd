// Marks that others than the thread itself make.
#pragma once

#include <cstdint>

#include "agent/thread_area.h"

namespace tailor::agent {

// The area's thread works for the execution from now on. By whoever writes its log.
void mark_execution_begin(ThreadArea& area, std::uint64_t execution, std::uint64_t plan_id) noexcept;

}  // namespace tailor::agent
