#include "daemon/session/overhead_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::session {
namespace {

constexpr int kFirstPairs = 24, kCheckPairs = 5;
// Cycles and dispatched operations of a fast core, so that the first guess rather takes too few samples.
constexpr double kMostEventsPerNs = 4;

bool is_governed(const capture::EventSpec& spec) {
  return spec.mechanism != capture::Mechanism::kSoftware;
}

}  // namespace

OverheadControl::OverheadControl(const OverheadOptions& options, Trial trial)
    : options_(options), trial_(std::move(trial)) {}

Status OverheadControl::begin(ProcessId process, TimeNs now, capture::CaptureOptions& options) {
  const auto count = std::ranges::count_if(options.events, is_governed);
  Target target;
  for (std::size_t i = 0; i < options.events.size(); ++i) {
    const capture::EventSpec& spec = options.events[i];
    if (!is_governed(spec)) continue;
    if (!measured_.contains(spec.name)) {
      auto cost = trial_(spec, options, kFirstPairs);
      if (!cost) return in_context("--max-overhead: ", cost.error());
      measured_[spec.name] = {spec, options};
      costs_[spec.name] = *cost;
    }
    capture::GovernorOptions governor;
    governor.max_overhead = options_.max_overhead / static_cast<double>(count);
    governor.least_period = spec.period;
    governor.events_per_ns = spec.unit == profile::Unit::kNsOnCpu ? 1 : kMostEventsPerNs;
    governor.multiple_of_16 = spec.mechanism == capture::Mechanism::kIbs;
    governor.seed = options_.seed + drawn_++;
    target.governed.push_back({i, capture::OverheadGovernor(governor)});
    target.governed.back().governor.set_cost(costs_[spec.name]);
  }
  target.options = options;
  target.next = now + options_.redraw;
  set_periods(target);
  options = target.options;
  targets_.insert_or_assign(process, std::move(target));
  return Ok{};
}

std::vector<ProcessId> OverheadControl::due(TimeNs now) const {
  std::vector<ProcessId> due;
  for (const auto& [process, target] : targets_) {
    if (target.next <= now) due.push_back(process);
  }
  return due;
}

void OverheadControl::check() {
  for (const auto& [name, how] : measured_) {
    auto cost = trial_(how.first, how.second, kCheckPairs);
    if (!cost) continue;  // the cost stays what it was
    costs_[name] = *cost;
    for (auto& [process, target] : targets_) {
      for (Governed& each : target.governed) {
        if (target.options.events[each.event].name == name) each.governor.set_cost(*cost);
      }
    }
  }
}

const capture::CaptureOptions& OverheadControl::draw(ProcessId process, TimeNs now,
                                                     const TargetProgress& progress) {
  Target& target = targets_.at(process);
  for (Governed& each : target.governed) {
    const std::size_t source = each.event;
    const capture::EventSpec& spec = target.options.events[source];
    // Of two events that share a source, samples do not say which one took them: their rates stay guesses
    // that are too high rather than too low, and so do the periods.
    const bool learnt = spec.unit != profile::Unit::kNsOnCpu && spec.part == capture::Part::kAll;
    if (!learnt || source >= progress.samples.size()) continue;
    const std::uint64_t before = source < target.before.samples.size() ? target.before.samples[source] : 0;
    each.governor.observe(progress.samples[source] - before, progress.cpu_ns - target.before.cpu_ns);
  }
  target.before = progress;
  target.next = now + options_.redraw;
  set_periods(target);
  return target.options;
}

std::string OverheadControl::text(ProcessId process) const {
  const auto found = targets_.find(process);
  if (found == targets_.end() || found->second.governed.empty()) return {};
  std::string sources;
  for (const Governed& each : found->second.governed) {
    const capture::EventSpec& spec = found->second.options.events[each.event];
    sources += fmt::format("{}{}: a sample costs {:.1f} us here, one every {}{}: {:.2f} %",
                           sources.empty() ? "" : ", ", spec.name, each.governor.cost() / 1000, spec.period,
                           spec.unit == profile::Unit::kNsOnCpu ? " ns" : "", 100 * each.governor.overhead());
  }
  return fmt::format("at most {:g} % of the target's CPU time ({}; periods drawn every {} s from seed {})",
                     100 * options_.max_overhead, sources, options_.redraw / 1'000'000'000, options_.seed);
}

void OverheadControl::set_periods(Target& target) {
  for (Governed& each : target.governed) target.options.events[each.event].period = each.governor.draw();
}

}  // namespace tailor::session
