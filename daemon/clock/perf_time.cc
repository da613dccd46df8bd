#include "daemon/clock/perf_time.h"

namespace tailor::clock {

std::optional<Conversion> perf_line_of(const PerfPageTime& page) {
  if (page.mult == 0 || page.shift > 63) return std::nullopt;
  return Conversion{.from_tsc = 0,
                    .base_ns = static_cast<TimeNs>(page.zero),
                    .mult = page.mult,
                    .shift = page.shift,
                    .source = Source::kPerfPage,
                    .trusted = true,
                    .error_ns = 1,
                    .drift_ppb = 0};
}

TimeNs perf_to_ns(const Conversion& perf_line, const Timeline& timeline, std::uint64_t perf_time) {
  return timeline.to_ns(to_tsc(perf_line, static_cast<TimeNs>(perf_time)));
}

void PerfTime::observe(const Observation& seen) {
  if (seen.perf) {
    line_ = perf_line_of(*seen.perf);
    if (line_) return;
  }
  line_.reset();
  if (!seen.module || seen.module->perf_tsc == 0) return;
  const std::uint64_t before = seen.module->perf_tsc;
  (void)pairs_.add({.before = before,
                    .after = before + seen.module->perf_ticks,
                    .raw_ns = static_cast<TimeNs>(seen.module->perf_ns)});
  line_ = pairs_.line();
  if (line_) line_->source = Source::kModule;
}

}  // namespace tailor::clock
