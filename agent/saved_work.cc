#include "agent/saved_work.h"

#include <algorithm>
#include <atomic>

#include "agent/current_thread.h"
#include "agent/marks.h"

using namespace tailor::agent;

namespace {

constexpr std::uint16_t end_of(std::uint16_t begin) {
  return static_cast<std::uint16_t>(begin + 1);
}
static_assert(end_of(TAILOR_LOG_EXECUTION_BEGIN) == TAILOR_LOG_EXECUTION_END &&
              end_of(TAILOR_LOG_PIPELINE_BEGIN) == TAILOR_LOG_PIPELINE_END &&
              end_of(TAILOR_LOG_MORSEL_BEGIN) == TAILOR_LOG_MORSEL_END &&
              end_of(TAILOR_LOG_COMPONENT_BEGIN) == TAILOR_LOG_COMPONENT_END);

bool is_whole(const tailor_saved_work* work) {
  return work && work->size >= sizeof(*work);
}

void forget(tailor_saved_work& work) {
  work.tag = 0;
  work.count = work.left_out = 0;
}

}  // namespace

// The tag goes first, and comes back last: a sampler that comes in between sees no tag without its execution.
void tailor::agent::save_work(ThreadArea& area, tailor_saved_work& out) noexcept {
  std::atomic_ref tag(area.slot->tag);
  out.tag = tag.load(std::memory_order_relaxed);
  tag.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint32_t open = area.marks.depth();
  out.count = std::min<std::uint32_t>(open, TAILOR_SAVED_MARKS);
  out.left_out = open - out.count;
  for (std::uint32_t i = 0; i < out.count; ++i) {
    const OpenMarks::Mark mark = area.marks.at(i);
    out.marks[i] = {mark.id, mark.plan, mark.begin, 0};
  }
  // As tailor_mark_execution_end(): which executions are drawn is said of none from here on.
  std::atomic_ref(area.slot->execution).store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  while (area.marks.depth() > 0) {
    const OpenMarks::Mark mark = area.marks.at(area.marks.depth() - 1);
    const bool is_execution = mark.begin == TAILOR_LOG_EXECUTION_BEGIN;
    mark_in(area, end_of(mark.begin), is_execution ? 0 : static_cast<std::uint32_t>(mark.id),
            is_execution ? mark.id : 0, 0);
  }
}

void tailor::agent::restore_work(ThreadArea& area, const tailor_saved_work& work) noexcept {
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(work.count, TAILOR_SAVED_MARKS); ++i) {
    const tailor_saved_mark& mark = work.marks[i];
    switch (mark.kind) {
      case TAILOR_LOG_EXECUTION_BEGIN:
        if (mark.id != 0) mark_execution_begin(area, mark.id, mark.plan_id);
        break;
      case TAILOR_LOG_PIPELINE_BEGIN:
      case TAILOR_LOG_MORSEL_BEGIN:
      case TAILOR_LOG_COMPONENT_BEGIN:
        mark_in(area, static_cast<std::uint16_t>(mark.kind), static_cast<std::uint32_t>(mark.id), 0, 0);
        break;
      default:
        break;
    }
  }
  std::atomic_ref(area.slot->tag).store(work.tag, std::memory_order_relaxed);
}

void tailor_work_save(struct tailor_saved_work* work) {
  if (!is_whole(work)) return;
  forget(*work);
  if (t_current.area) save_work(*t_current.area, *work);
}

void tailor_work_restore(const struct tailor_saved_work* work) {
  if (!is_whole(work) || (work->count == 0 && work->tag == 0)) return;
  if (ThreadArea* area = own_area()) restore_work(*area, *work);
}
