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

std::uint64_t ThreadKey(const ThreadArea& area) {
  return static_cast<std::uint64_t>(area.arena) << 48 | static_cast<std::uint64_t>(area.index) << 32 |
         area.use;
}

std::uint32_t CurrentTid() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void PostThreadAdd(Agent& agent, const ThreadArea& area, std::uint32_t tid, const char* name) {
  std::string_view text = View(name, kMaxNameBytes);
  agent.Post({MessageKind::kThreadAdd, 0, ThreadKey(area), 0}, kFixedBound + text.size(),
             [&](FixedWire& body) { EncodeThreadAdd(body, {tid, area.arena, area.index, area.use, text}); });
}

void PostThreadRemove(const ThreadArea& area) {
  Agent* agent = Current();
  if (!agent) return;
  agent->Post({MessageKind::kThreadRemove, 0, ThreadKey(area), 0}, kFixedBound, [&](FixedWire& body) {
    body.Number(1, area.arena);
    body.Number(2, area.index);
    body.Number(3, area.use);
  });
}

// Destructor of the key: runs in the ending thread, after its C++ thread-local objects are gone.
void EndThread(void* value) {
  t_current = {nullptr, nullptr, true};
  EndOtherThread(*static_cast<ThreadArea*>(value));
}

}  // namespace

std::int64_t TagSlotOffset() noexcept {
  const char* thread = nullptr;
  asm("mov %%fs:0, %0" : "=r"(thread));  // the psABI keeps the thread pointer there, too
  return reinterpret_cast<const char*>(&t_current.tag) - thread;
}

bool PrepareThreadEnd() noexcept {
  static const bool ready = ::pthread_key_create(&g_end_key, EndThread) == 0;
  return ready;
}

int RegisterCurrentThread(Agent& agent, const char* name) noexcept {
  if (t_current.area) return 0;
  if (t_current.ended) return -ESRCH;
  std::uint32_t tid = CurrentTid();
  ThreadArea* area = agent.arenas().Claim(tid);
  if (!area) return -ENOMEM;
  if (int error = ::pthread_setspecific(g_end_key, area)) {
    Arena::GiveBack(*area);
    return -error;
  }
  t_current.area = area;
  t_current.tag = &area->slot->tag;
  PostThreadAdd(agent, *area, tid, name);
  return 0;
}

ThreadArea* RegisterOtherThread(Agent& agent, std::uint32_t tid, const char* name) noexcept {
  ThreadArea* area = agent.arenas().Claim(tid);
  if (area) PostThreadAdd(agent, *area, tid, name);
  return area;
}

void EndOtherThread(ThreadArea& area) noexcept {
  PostThreadRemove(area);
  Arena::GiveBack(area);
}

void KeepCurrentThreadAfterFork(Agent& agent) noexcept {
  ThreadArea* area = t_current.area;
  if (!area) return;
  std::uint32_t tid = CurrentTid();
  Arena::BeginUse(*area, tid);
  PostThreadAdd(agent, *area, tid, nullptr);
}

void ForgetCurrentThread() noexcept {
  if (t_current.area) ::pthread_setspecific(g_end_key, nullptr);
  t_current.area = nullptr;
  t_current.tag = nullptr;
}

}  // namespace tailor::agent
