#include "daemon/session/live_clock.h"

#include <algorithm>
#include <chrono>

namespace tailor::session {

void LiveClock::start(pipeline::Input& input) {
  observe(input);
  while (!model_.ready()) {
    os_.sleep(std::chrono::nanoseconds(model_.next_observation_ns()));
    observe(input);
  }
}

void LiveClock::tick(TimeNs now, pipeline::Input& input) {
  if (now < next_) return;
  observe(input);
  next_ = now + static_cast<TimeNs>(model_.next_observation_ns());
}

void LiveClock::observe(pipeline::Input& input) {
  bool first = true;
  for (const clock::Conversion& piece : model_.observe(host_.observe())) {
    input.on_clock(piece, first && model_.restarted());
    first = false;
  }
  if (model_.perf_line() && model_.perf_line() != told_perf_line_) {
    told_perf_line_ = model_.perf_line();
    input.on_perf_clock(*told_perf_line_);
  }
  if (!model_.ready()) return;
  worst_source_ = std::max(worst_source_, model_.source());
  always_trusted_ = always_trusted_ && model_.trusted();
  worst_error_ns_ = std::max(worst_error_ns_, model_.error_bound_ns());
}

std::string LiveClock::worst_source() const {
  return std::string(clock::name(worst_source_)) + (always_trusted_ ? "" : ", not trusted");
}

}  // namespace tailor::session
