// The state of a thread in its slot (tailor_slot.states), as samplers read it.
#pragma once

#include <tailor/thread_area.h>

namespace tailor::agent {

// Two or three plain stores. A sampler that comes between any two of them sees the state before or this one,
// and nothing else. By the writer of the thread's log.
void say_state(tailor_slot& slot, const tailor_thread_state& state) noexcept;

}  // namespace tailor::agent
