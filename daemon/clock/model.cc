#include "daemon/clock/model.h"

#include <algorithm>

#include "daemon/clock/kernel_rate.h"

namespace tailor::clock {
namespace {

using Wide = __int128;

// A correction is spread so that it changes the rate by 500 ppm at most, as NTP does.
constexpr std::uint64_t kSlewPerNs = 2000;
// Beyond this a forward correction is a step: slewing it would take longer than two seconds.
constexpr std::uint64_t kStepNs = 1'000'000;
// What two evaluations of one line may differ by through rounding.
constexpr std::uint64_t kRoundingNs = 2;

constexpr std::uint64_t kFirstWaitNs = 10'000'000;
constexpr std::uint64_t kSettledWaitNs = 1'000'000'000;

std::uint64_t magnitude(Wide v) {
  return static_cast<std::uint64_t>(v < 0 ? -v : v);
}

// Whether the clock can have had raw_ns between the two reads, if `line` is right within its bound.
bool agrees(const Conversion& line, const Pair& pair) {
  const Wide slack = error_bound_ns(line, pair.middle()) + kRoundingNs;
  return to_ns(line, pair.before) - slack <= pair.raw_ns && pair.raw_ns <= to_ns(line, pair.after) + slack;
}

// Ticks that take `ns` on the line of `c`.
std::uint64_t ticks_of(const Conversion& c, std::uint64_t ns) {
  return c.mult == 0 ? 0 : static_cast<std::uint64_t>((static_cast<Wide>(ns) << c.shift) / c.mult);
}

}  // namespace

std::optional<Conversion> line_of(const ModuleTime& module) {
  if (module.mult == 0 || module.shift > 32) return std::nullopt;
  const std::uint64_t ns = module.remainder >> module.shift;
  if (ns > kTimeMax / 2 || module.base_ns > kTimeMax / 2 || module.base_ns < 0) return std::nullopt;
  return Conversion{.from_tsc = module.cycle_last,
                    .base_ns = module.base_ns + static_cast<TimeNs>(ns),
                    .mult = module.mult,
                    .shift = module.shift,
                    .source = Source::kModule,
                    .trusted = true,
                    .error_ns = module.uncertainty_ns + 1,
                    .drift_ppb = 0};
}

std::optional<Conversion> Model::module_line(const Observation& seen) {
  if (!seen.module) return std::nullopt;
  auto line = line_of(*seen.module);
  if (line && agrees(*line, seen.pair)) return rebased(*line, seen.pair.middle());
  ++counters_.module_contradicted;
  return std::nullopt;
}

std::optional<Conversion> Model::perf_page_line(const Observation& seen) {
  if (!seen.perf || !seen.tsc_is_clocksource) return std::nullopt;
  const Rate rate = clocksource_rate(khz_of_perf_rate(seen.perf->mult, seen.perf->shift));
  if (rate.mult == 0) return std::nullopt;
  auto line = calibration_.line_with_rate(rate.mult, rate.shift);
  if (!line) {
    ++counters_.perf_page_contradicted;
    return std::nullopt;
  }
  line->source = Source::kPerfPage;
  return line;
}

std::optional<Conversion> Model::best_line(const Observation& seen) {
  auto line = module_line(seen);
  if (!line) line = perf_page_line(seen);
  if (line) {
    line->trusted = true;
    return line;
  }
  line = calibration_.line();
  if (!line) return std::nullopt;
  line->trusted = seen.tsc_is_clocksource;
  // Two oscillators are not linear in one another within less than the slack.
  if (!seen.tsc_is_clocksource) line->error_ns += Calibration::kSlackNs;
  return line;
}

std::vector<Conversion> Model::observe(const Observation& seen) {
  restarted_ = false;
  perf_time_.observe(seen);
  switch (calibration_.add(seen.pair)) {
    case Calibration::Verdict::kRejected:
      ++counters_.rejected_pairs;
      return {};
    case Calibration::Verdict::kBreak:
      ++counters_.breaks;
      break;
    case Calibration::Verdict::kTscReset:
      ++counters_.tsc_resets;
      restarted_ = true;
      break;
    case Calibration::Verdict::kFits:
      break;
  }
  const auto line = best_line(seen);
  if (!line) return {};
  if (timeline_.empty()) {
    last_tsc_ = seen.pair.after;
    (void)timeline_.append(*line);
    return {*line};
  }
  const std::uint64_t lead = ticks_of(*line, kLeadNs);
  const std::uint64_t previous = last_tsc_;
  last_tsc_ = seen.pair.after;
  // Values up to the end of the old lead may have been given out; time goes on from there.
  if (restarted_) return restart(*line, timeline_.to_ns(previous + lead));
  const std::uint64_t at = seen.pair.after + lead;
  return worth_a_change(*line, at) ? change_to(*line, at) : std::vector<Conversion>{};
}

std::vector<Conversion> Model::restart(const Conversion& line, TimeNs given) {
  Conversion first = line;
  first.base_ns = std::max(first.base_ns, given);
  first.error_ns += magnitude(static_cast<Wide>(first.base_ns) - line.base_ns);
  (void)timeline_.restart(first);
  std::vector<Conversion> added{first};
  if (first.base_ns == line.base_ns) return added;
  for (const Conversion& c : change_to(line, first.from_tsc + 1)) added.push_back(c);
  return added;
}

bool Model::worth_a_change(const Conversion& next, std::uint64_t at) const {
  const Conversion& now = timeline_.at(at);
  if (now.source != next.source || now.trusted != next.trusted) return true;
  const std::uint64_t off = magnitude(static_cast<Wide>(timeline_.to_ns(at)) - clock::to_ns(next, at));
  // The line in force is right within its own bound unless shown otherwise; every change is noise to readers.
  const std::uint64_t bound = timeline_.error_bound_ns(at);
  return off > bound || bound > 2 * clock::error_bound_ns(next, at);
}

std::vector<Conversion> Model::change_to(const Conversion& next, std::uint64_t at) {
  const TimeNs old_ns = timeline_.to_ns(at);
  Conversion settled = rebased(next, at);
  const Wide off = static_cast<Wide>(settled.base_ns) - old_ns;
  if (!restarted_ && magnitude(off) > timeline_.error_bound_ns(at) + settled.error_ns + kRoundingNs) {
    ++counters_.bound_violations;
  }
  std::vector<Conversion> added;
  if (off != 0 && off < static_cast<Wide>(kStepNs)) {
    // Bridge from the old line to the new one: a slightly different rate, or a hold if that takes too long.
    const bool hold = -off >= static_cast<Wide>(kStepNs);
    const std::uint64_t bridge_ns = hold ? magnitude(off) : magnitude(off) * kSlewPerNs;
    const std::uint64_t ticks = std::max<std::uint64_t>(ticks_of(settled, bridge_ns), 1);
    Conversion bridge = settled;
    bridge.base_ns = old_ns;
    bridge.error_ns += magnitude(off);
    const Wide change = (off << bridge.shift) / static_cast<Wide>(ticks);
    bridge.mult = hold ? 0 : static_cast<std::uint64_t>(static_cast<Wide>(settled.mult) + change);
    added.push_back(bridge);
    settled = rebased(settled, at + ticks);
    const TimeNs end = clock::to_ns(bridge, settled.from_tsc);
    if (end > settled.base_ns) {  // by rounding
      settled.error_ns += static_cast<std::uint64_t>(end - settled.base_ns);
      settled.base_ns = end;
    }
  }
  added.push_back(settled);
  for (const Conversion& c : added) (void)timeline_.append(c);
  return added;
}

std::uint64_t Model::next_observation_ns() const {
  if (!ready()) return kFirstWaitNs;
  const Conversion& now = timeline_.at(last_tsc_);
  const Wide known = (static_cast<Wide>(calibration_.span()) * now.mult) >> now.shift;
  return static_cast<std::uint64_t>(std::clamp<Wide>(known, kFirstWaitNs, kSettledWaitNs));
}

Source Model::source() const {
  return ready() ? timeline_.pieces().back().source : Source::kCalibration;
}

bool Model::trusted() const {
  return ready() && timeline_.pieces().back().trusted;
}

std::uint64_t Model::error_bound_ns() const {
  return ready() ? timeline_.error_bound_ns(std::max(last_tsc_, timeline_.pieces().back().from_tsc))
                 : UINT64_MAX;
}

}  // namespace tailor::clock
