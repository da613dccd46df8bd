// What a thread works on, taken off it and put on it or on another one: engines that run fibers do this
// around each switch.
#pragma once

#include <tailor/agent.h>

#include "agent/thread_area.h"

namespace tailor::agent {

// By the writer of the area's log, as is the next. The marks that are open end, innermost first.
void save_work(ThreadArea& area, tailor_saved_work& out) noexcept;
// They begin again, outermost first, within those that are open. What no save_work() gives is passed over.
void restore_work(ThreadArea& area, const tailor_saved_work& work) noexcept;

}  // namespace tailor::agent
