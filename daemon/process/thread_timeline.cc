#include "daemon/process/thread_timeline.h"

#include <algorithm>
#include <utility>

namespace tailor::process {

void ThreadTimeline::add(const tailor_log_record& record, TimeNs time) {
  if (time >= ends_) end_all();
  seen(time);
  ThreadContext next = now();
  switch (record.kind) {
    case TAILOR_LOG_EXECUTION_BEGIN:
      next = {.execution = record.a, .plan = record.b};
      begin(TAILOR_LOG_EXECUTION_BEGIN, record.a, next);
      break;
    case TAILOR_LOG_PIPELINE_BEGIN:
      next.pipeline = record.id;
      begin(TAILOR_LOG_PIPELINE_BEGIN, record.id, next);
      break;
    case TAILOR_LOG_MORSEL_BEGIN:
      next.pipeline = record.id;
      next.component = 0;
      next.component_lost = false;
      begin(TAILOR_LOG_MORSEL_BEGIN, record.id, next);
      break;
    case TAILOR_LOG_COMPONENT_BEGIN:
      next.component = record.id;
      next.component_lost = false;
      begin(TAILOR_LOG_COMPONENT_BEGIN, record.id, next);
      break;
    case TAILOR_LOG_EXECUTION_END:
      end(TAILOR_LOG_EXECUTION_BEGIN, record.a);
      break;
    case TAILOR_LOG_PIPELINE_END:
      end(TAILOR_LOG_PIPELINE_BEGIN, record.id);
      break;
    case TAILOR_LOG_MORSEL_END:
      end(TAILOR_LOG_MORSEL_BEGIN, record.id);
      break;
    case TAILOR_LOG_COMPONENT_END:
      end(TAILOR_LOG_COMPONENT_BEGIN, record.id);
      break;
    default:
      return;
  }
  note(time);
}

void ThreadTimeline::reset(TimeNs time) {
  if (!changes_.empty() && changes_.back().time > time) return;
  ends_ = std::min(ends_, time);
}

void ThreadTimeline::restart(TimeNs time) {
  if (now() != ThreadContext{}) reset(time);
}

void ThreadTimeline::end_all() {
  last_ = std::max(last_, ends_);
  open_.clear();
  outside_ = {};
  note(std::exchange(ends_, kTimeMax));
}

void ThreadTimeline::seen(TimeNs time) {
  last_ = std::max(last_, time);
}

void ThreadTimeline::lose() {
  open_.clear();
  outside_ = {.execution_lost = true, .component_lost = true};
  note(last_);
}

ThreadContext ThreadTimeline::at(TimeNs time) const {
  if (time >= ends_) return {};
  // Most samples lie between the same two changes as the one before, or the next two.
  std::size_t guess = found_.load(std::memory_order_relaxed);
  for (int tries = 0; tries < 2; ++tries, ++guess) {
    if (guess < first_ || guess >= changes_.size() || changes_[guess].time > time) break;
    if (guess + 1 < changes_.size() && changes_[guess + 1].time <= time) continue;
    found_.store(guess, std::memory_order_relaxed);
    return changes_[guess].context;
  }
  const auto begin = changes_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto after = std::upper_bound(begin, changes_.end(), time,
                                      [](TimeNs t, const Change& change) { return t < change.time; });
  if (after == begin) return {};
  found_.store(static_cast<std::size_t>(std::prev(after) - changes_.begin()), std::memory_order_relaxed);
  return std::prev(after)->context;
}

TimeNs ThreadTimeline::change_after(TimeNs time) const {
  if (time >= ends_) return kTimeMax;
  if (changes() == 0) return ends_;
  if (changes_[first_].time > time) return std::min(ends_, changes_[first_].time);
  (void)at(time);  // leaves found_ where the time is
  const std::size_t next = found_.load(std::memory_order_relaxed) + 1;
  return next == changes_.size() ? ends_ : std::min(ends_, changes_[next].time);
}

void ThreadTimeline::trim(TimeNs watermark) {
  if (ends_ <= watermark) end_all();
  while (changes() > 1 && changes_[first_ + 1].time <= watermark) ++first_;
  // Moving what is left costs no more than what was forgotten.
  if (first_ > changes() && first_ >= 64) {
    changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    if (changes_.capacity() > 4 * changes_.size() + 1024) changes_.shrink_to_fit();
  }
}

void ThreadTimeline::begin(tailor_log_kind kind, std::uint64_t id, const ThreadContext& context) {
  if (open_.size() >= limits_.nesting) {
    ++unmatched_;
    return;
  }
  open_.push_back({kind, id, context});
}

void ThreadTimeline::end(tailor_log_kind kind, std::uint64_t id) {
  for (std::size_t i = open_.size(); i > 0; --i) {
    if (open_[i - 1].begin != kind || open_[i - 1].id != id) continue;
    open_.resize(i - 1);
    // Executions do not nest in executions that are over.
    if (open_.empty() && kind == TAILOR_LOG_EXECUTION_BEGIN) outside_ = {};
    return;
  }
  // It was begun before the marks were lost.
  if (outside_.execution_lost && kind == TAILOR_LOG_EXECUTION_BEGIN) {
    open_.clear();
    outside_ = {};
    return;
  }
  ++unmatched_;
  // What was open when marks were lost is closed, with everything opened since.
  if (outside_.component_lost) open_.clear();
}

void ThreadTimeline::note(TimeNs time) {
  const ThreadContext context = now();
  if (changes() == 0) {
    changes_.push_back({time, context});
    return;
  }
  Change& last = changes_.back();
  if (last.context == context) return;
  if (time <= last.time) {
    last.context = context;
    return;
  }
  if (changes() >= limits_.thread_changes) {
    ++first_;
    ++forgotten_early_;
    trim(kTimeMin);
  }
  changes_.push_back({time, context});
}

}  // namespace tailor::process
