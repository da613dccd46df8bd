#include "agent/current_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/agent.h"

namespace tailor::agent {

__thread CurrentThread t_current{nullptr, nullptr, false};

namespace {

pthread_key_t g_end_key;

std::uint64_t thread_key(const ThreadArea& area) {
  return static_cast<std::uint64_t>(area.arena) << 48 | static_cast<std::uint64_t>(area.index) << 32 |
         area.use;
}

std::uint32_t current_tid() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void post_thread_add(Agent& agent, const ThreadArea& area, std::uint32_t tid, const char* name) {
  std::string_view text = view(name, kMaxNameBytes);
  agent.post(
      {MessageKind::kThreadAdd, 0, thread_key(area), 0}, kFixedBound + text.size(),
      [&](FixedWire& body) { encode_thread_add(body, {tid, area.arena, area.index, area.use, text}); });
}

void post_thread_remove(const ThreadArea& area) {
  Agent* agent = current();
  if (!agent) return;
  agent->post({MessageKind::kThreadRemove, 0, thread_key(area), 0}, kFixedBound, [&](FixedWire& body) {
    body.number(1, area.arena);
    body.number(2, area.index);
    body.number(3, area.use);
  });
}

// Destructor of the key: runs in the ending thread, after its C++ thread-local objects are gone.
void end_thread(void* value) {
  t_current = {nullptr, nullptr, true};
  end_other_thread(*static_cast<ThreadArea*>(value));
}

}  // namespace

std::int64_t tag_slot_offset() noexcept {
  const char* thread = nullptr;
  asm("mov %%fs:0, %0" : "=r"(thread));  // the psABI keeps the thread pointer there, too
  return reinterpret_cast<const char*>(&t_current.tag) - thread;
}

bool prepare_thread_end() noexcept {
  static const bool ready = ::pthread_key_create(&g_end_key, end_thread) == 0;
  return ready;
}

int register_current_thread(Agent& agent, const char* name) noexcept {
  if (t_current.area) return 0;
  if (t_current.ended) return -ESRCH;
  std::uint32_t tid = current_tid();
  ThreadArea* area = agent.arenas().claim(tid);
  if (!area) return -ENOMEM;
  if (int error = ::pthread_setspecific(g_end_key, area)) {
    Arena::give_back(*area);
    return -error;
  }
  t_current.area = area;
  t_current.tag = &area->slot->tag;
  post_thread_add(agent, *area, tid, name);
  return 0;
}

ThreadArea* own_area() noexcept {
  if (!t_current.area) [[unlikely]] {
    if (Agent* agent = current()) register_current_thread(*agent, nullptr);
  }
  return t_current.area;
}

ThreadArea* register_other_thread(Agent& agent, std::uint32_t tid, const char* name) noexcept {
  ThreadArea* area = agent.arenas().claim(tid);
  if (area) post_thread_add(agent, *area, tid, name);
  return area;
}

void end_other_thread(ThreadArea& area) noexcept {
  post_thread_remove(area);
  Arena::give_back(area);
}

void keep_current_thread_after_fork(Agent& agent) noexcept {
  ThreadArea* area = t_current.area;
  if (!area) return;
  std::uint32_t tid = current_tid();
  Arena::begin_use(*area, tid);
  post_thread_add(agent, *area, tid, nullptr);
}

void forget_current_thread() noexcept {
  if (t_current.area) ::pthread_setspecific(g_end_key, nullptr);
  t_current.area = nullptr;
  t_current.tag = nullptr;
}

}  // namespace tailor::agent
