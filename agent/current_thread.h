// The calling thread's area, found through one thread-local pointer; and areas of threads that cannot call.
#pragma once

#include "agent/thread_area.h"

namespace tailor::agent {

class Agent;

struct CurrentThread {
  ThreadArea* area;    // nullptr: not registered yet, or ended
  std::uint64_t* tag;  // in the area's slot: found by a profiler through tag_slot_offset()
  bool ended;          // the thread is past the point where it gave its area back
};

// Initial-exec: no call and no allocation on first use, also in a library opened with dlopen. 24 bytes fit
// into the room that the C library keeps for such libraries.
[[gnu::tls_model("initial-exec")]] extern __thread CurrentThread t_current;

// Where `t_current.tag` lies from the thread pointer (fs base): the same in every thread, because the model
// is initial-exec.
std::int64_t tag_slot_offset() noexcept;

// Makes the key whose destructor gives areas back. Once a process. False: no key left.
bool prepare_thread_end() noexcept;

// Gives the calling thread an area and tells the daemon; 0 or a negative errno. `name` may be nullptr.
int register_current_thread(Agent& agent, const char* name) noexcept;

// That of the calling thread, which is registered if it is not yet; nullptr: there is no agent, or no memory.
ThreadArea* own_area() noexcept;

// An area for another thread, into whose log the caller writes from then on; nullptr: no memory.
ThreadArea* register_other_thread(Agent& agent, std::uint32_t tid, const char* name) noexcept;
// That thread has ended.
void end_other_thread(ThreadArea& area) noexcept;

// In a forked child whose agent goes on: the thread keeps its area, as a thread of this process.
void keep_current_thread_after_fork(Agent& agent) noexcept;

// In a forked child: the thread has no area any more.
void forget_current_thread() noexcept;

}  // namespace tailor::agent
