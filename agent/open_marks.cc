#include "agent/open_marks.h"

namespace tailor::agent {

namespace {

constexpr std::uint64_t kComponentBits = UINT64_C(0xFFFFFFFF);

std::uint64_t work_of(std::uint32_t pipeline, std::uint32_t component) {
  return static_cast<std::uint64_t>(pipeline) << 32 | component;
}

}  // namespace

void OpenMarks::add(std::uint16_t kind, std::uint32_t id, std::uint64_t a, std::uint64_t b) noexcept {
  tailor_thread_state next = now();
  switch (kind) {
    case TAILOR_LOG_EXECUTION_BEGIN:
      return begin(kind, a, {a, b, 0});
    case TAILOR_LOG_PIPELINE_BEGIN:
      next.work = work_of(id, 0) | (next.work & kComponentBits);
      return begin(kind, id, next);
    case TAILOR_LOG_MORSEL_BEGIN:
      next.work = work_of(id, 0);
      return begin(kind, id, next);
    case TAILOR_LOG_COMPONENT_BEGIN:
      next.work = (next.work & ~kComponentBits) | id;
      return begin(kind, id, next);
    case TAILOR_LOG_EXECUTION_END:
      return end(TAILOR_LOG_EXECUTION_BEGIN, a);
    case TAILOR_LOG_PIPELINE_END:
      return end(TAILOR_LOG_PIPELINE_BEGIN, id);
    case TAILOR_LOG_MORSEL_END:
      return end(TAILOR_LOG_MORSEL_BEGIN, id);
    case TAILOR_LOG_COMPONENT_END:
      return end(TAILOR_LOG_COMPONENT_BEGIN, id);
    default:
      return;
  }
}

void OpenMarks::begin(std::uint16_t kind, std::uint64_t id, const tailor_thread_state& state) noexcept {
  if (depth_ == kMost) return;
  open_[depth_++] = {id, state, kind};
}

void OpenMarks::end(std::uint16_t begin, std::uint64_t id) noexcept {
  for (std::uint32_t at = depth_; at > 0; --at) {
    if (open_[at - 1].begin != begin || open_[at - 1].id != id) continue;
    depth_ = at - 1;
    return;
  }
}

}  // namespace tailor::agent
