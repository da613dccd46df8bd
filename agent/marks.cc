// Activity of the calling thread: one record each in its log, and for whom it works in its slot.
#include "agent/marks.h"

#include <tailor/agent.h>
#include <tailor/thread_area.h>

#include "agent/agent.h"
#include "agent/current_thread.h"
#include "agent/slot_state.h"

using namespace tailor::agent;

namespace {

// Kept out of line: the common case is one load and one branch.
[[gnu::noinline, gnu::cold]] void register_and_mark(std::uint16_t kind, std::uint32_t id, std::uint64_t a,
                                                    std::uint64_t b) {
  Agent* agent = current();
  if (!agent || register_current_thread(*agent, nullptr) != 0) return;
  mark_in(*t_current.area, kind, id, a, b);
}

inline void mark(std::uint16_t kind, std::uint32_t id, std::uint64_t a, std::uint64_t b) {
  ThreadArea* area = t_current.area;
  if (area) [[likely]] {
    mark_in(*area, kind, id, a, b);
  } else {
    register_and_mark(kind, id, a, b);
  }
}

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void say_execution(ThreadArea& area, std::uint64_t number) {
  std::atomic_ref(area.slot->execution).store(number, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void say_innermost(ThreadArea& area) {
  const Agent* agent = current();
  say_execution(area, agent ? agent->draw_number(area.marks.now().execution) : 0);
}

}  // namespace

void tailor::agent::mark_in(ThreadArea& area, std::uint16_t kind, std::uint32_t id, std::uint64_t a,
                            std::uint64_t b) noexcept {
  const std::uint64_t before = area.marks.now().execution;
  area.marks.add(kind, id, a, b);
  // The end of what an execution was begun in ends it, too.
  const bool is_of_execution = kind == TAILOR_LOG_EXECUTION_BEGIN || kind == TAILOR_LOG_EXECUTION_END;
  const bool another = !is_of_execution && area.marks.now().execution != before;
  if (another) say_execution(area, 0);
  append_record(area, kind, id, a, b);
  say_state(*area.slot, area.marks.now());
  if (another) say_innermost(area);
}

// A sampler may come between any two of these stores. The slot says less than the log, never more: then what
// is dropped by the slot is what the log would have dropped.
void tailor::agent::mark_execution_begin(ThreadArea& area, std::uint64_t execution,
                                         std::uint64_t plan_id) noexcept {
  say_execution(area, 0);
  mark_in(area, TAILOR_LOG_EXECUTION_BEGIN, 0, execution, plan_id);
  say_innermost(area);
}

void tailor_mark_execution_begin(uint64_t execution, uint64_t plan_id) {
  if (execution == 0) return;
  if (ThreadArea* area = own_area()) mark_execution_begin(*area, execution, plan_id);
}
void tailor_mark_execution_end(uint64_t execution) {
  ThreadArea* area = execution == 0 ? nullptr : own_area();
  if (!area) return;
  say_execution(*area, 0);
  mark_in(*area, TAILOR_LOG_EXECUTION_END, 0, execution, 0);
  say_innermost(*area);
}
void tailor_mark_pipeline_begin(uint32_t pipeline) {
  mark(TAILOR_LOG_PIPELINE_BEGIN, pipeline, 0, 0);
}
void tailor_mark_pipeline_end(uint32_t pipeline) {
  mark(TAILOR_LOG_PIPELINE_END, pipeline, 0, 0);
}
void tailor_mark_morsel_begin(uint32_t pipeline, uint64_t first_tuple, uint64_t tuples) {
  mark(TAILOR_LOG_MORSEL_BEGIN, pipeline, first_tuple, tuples);
}
void tailor_mark_morsel_end(uint32_t pipeline) {
  mark(TAILOR_LOG_MORSEL_END, pipeline, 0, 0);
}
void tailor_mark_component_begin(uint32_t component) {
  if (component) mark(TAILOR_LOG_COMPONENT_BEGIN, component, 0, 0);
}
void tailor_mark_component_end(uint32_t component) {
  if (component) mark(TAILOR_LOG_COMPONENT_END, component, 0, 0);
}
void tailor_mark_iteration(uint32_t component, uint64_t number) {
  if (component) mark(TAILOR_LOG_ITERATION, component, number, 0);
}
void tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes) {
  if (region_kind) mark(TAILOR_LOG_REGION_ADD, region_kind, address(base), bytes);
}
void tailor_region_remove(const void* base) {
  mark(TAILOR_LOG_REGION_REMOVE, 0, address(base), 0);
}
