#include "daemon/pipeline/kept_activity.h"

#include <algorithm>

namespace tailor::pipeline {

void KeptActivity::change(const process::ThreadContext& context, TimeNs time,
                          std::vector<profile::ActivityRecord>& out) {
  const State next{context.execution, context.plan, context.pipeline, context.component};
  if (next == state_) return;
  end_state(time, out);
  state_ = next;
  since_ = std::max(since_, time);
}

void KeptActivity::advance(TimeNs time, std::vector<profile::ActivityRecord>& out) {
  if (since_ != kTimeMin && time - since_ >= kActivityResolution) settle(time, out);
}

void KeptActivity::settle(TimeNs time, std::vector<profile::ActivityRecord>& out) {
  if (since_ == kTimeMin || time < since_) return;
  tell_short(out);
  tell(state_, since_, out);
}

void KeptActivity::end_state(TimeNs time, std::vector<profile::ActivityRecord>& out) {
  if (since_ == kTimeMin || time <= since_) return;
  const TimeNs length = time - since_;
  if (length >= kActivityResolution) {
    tell_short(out);
    return tell(state_, since_, out);
  }
  if (short_.empty()) short_since_ = since_;
  const auto known = std::ranges::find(short_, state_, &Short::state);
  if (known != short_.end()) {
    known->length += length;
  } else if (short_.size() < kShort) {
    short_.push_back({state_, length});
  }
  if (time - short_since_ >= kActivityResolution) tell_short(out);
}

void KeptActivity::tell_short(std::vector<profile::ActivityRecord>& out) {
  if (short_.empty()) return;
  const auto longest = std::ranges::max_element(short_, {}, &Short::length);
  tell(longest->state, short_since_, out);
  short_.clear();
}

// The marks between two states: what ends, inner first, then what begins.
void KeptActivity::tell(const State& state, TimeNs time, std::vector<profile::ActivityRecord>& out) {
  if (state == told_) return;
  const bool execution = state.execution != told_.execution || state.plan != told_.plan;
  const bool pipeline = execution || state.pipeline != told_.pipeline;
  const bool component = pipeline || state.component != told_.component;
  if (component && told_.component != 0) mark(TAILOR_LOG_COMPONENT_END, time, told_.component, 0, 0, out);
  if (pipeline && told_.pipeline != 0) mark(TAILOR_LOG_PIPELINE_END, time, told_.pipeline, 0, 0, out);
  if (execution && told_.execution != 0) mark(TAILOR_LOG_EXECUTION_END, time, 0, told_.execution, 0, out);
  if (execution && state.execution != 0)
    mark(TAILOR_LOG_EXECUTION_BEGIN, time, 0, state.execution, state.plan, out);
  if (pipeline && state.pipeline != 0) mark(TAILOR_LOG_PIPELINE_BEGIN, time, state.pipeline, 0, 0, out);
  if (component && state.component != 0) mark(TAILOR_LOG_COMPONENT_BEGIN, time, state.component, 0, 0, out);
  told_ = state;
}

void KeptActivity::mark(tailor_log_kind kind, TimeNs time, std::uint32_t id, std::uint64_t a, std::uint64_t b,
                        std::vector<profile::ActivityRecord>& out) const {
  out.push_back({time, process_, tid_, kind, id, a, b});
}

}  // namespace tailor::pipeline
