#include "daemon/session/rate_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tailor::session {
namespace {

constexpr TimeNs kTryAgainAfter = 5'000'000'000;

bool samples_alike(const capture::CaptureOptions& one, const capture::CaptureOptions& other) {
  return one.events == other.events && one.callchain == other.callchain &&
         one.all_registers == other.all_registers;
}

}  // namespace

Result<ProcessId> RateChanges::find(std::int32_t pid) {
  const auto found = std::ranges::find_if(sampled_.all(), [&](const ProcessSampling& each) {
    return each.process.pid == pid && (each.is_sampling() || each.state() == SamplingState::kReopening);
  });
  if (found != sampled_.all().end()) return found->process;
  return not_found(fmt::format("process {} is not sampled; `tailor status` shows those that are", pid));
}

Result<RatesChanged> RateChanges::set(std::optional<std::int32_t> pid, Rate rate) {
  std::optional<ProcessId> whose;
  if (pid) {
    auto found = find(*pid);
    if (!found) return found.error();
    whose = *found;
  }
  if (Status done = rates_.set(whose, std::move(rate)); !done) return done.error();
  RatesChanged changed = apply(whose);
  if (!whose || changed.problems.empty()) return changed;
  rates_.reset(whose);
  return unavailable(changed.problems.front());
}

Result<RatesChanged> RateChanges::reset(std::optional<std::int32_t> pid) {
  std::optional<ProcessId> whose;
  if (pid) {
    auto found = find(*pid);
    if (!found) return found.error();
    whose = *found;
  }
  if (!rates_.reset(whose)) {
    return not_found(pid ? fmt::format("process {} has no rate of its own", *pid)
                         : std::string("the daemon's rate is that of its configuration"));
  }
  return apply(whose);
}

void RateChanges::take(const AskRates& ask) {
  if (!ask) return;
  const auto may_raise = [this](ProcessId process) {
    const ProcessSampling* sampled = sampled_.find(process);
    return sampled != nullptr && sampled->is_sampling() && !rates_.has_own(process);
  };
  for (RateAsked& asked : ask(os_.now(), may_raise)) {
    const auto changed = set(asked.process.pid, std::move(asked.rate));
    if (!changed) on_problem_({{}, changed.error().message});
  }
}

void RateChanges::look() {
  const TimeNs now = os_.now();
  const bool opened = std::exchange(opened_seen_, sampled_.opened()) != sampled_.opened();
  const bool expired = rates_.expire(now);
  const bool concerns = opened && !(rates_.empty() && spans_.list().empty());
  if (!expired && !concerns && now < try_again_) return;
  for (const std::string& problem : apply(std::nullopt).problems) on_problem_({{}, problem});
}

void RateChanges::forget(ProcessId process) {
  rates_.reset(process);
  if (spans_.end(process, os_.now())) facts_.rates(spans_.list());
}

RatesChanged RateChanges::apply(std::optional<ProcessId> whose) {
  RatesChanged result;
  bool told = false;
  for (ProcessSampling& each : sampled_.all()) {
    if (!each.is_sampling()) continue;
    const ProcessId process = each.process;
    bool changed = false;
    const Status done = apply(each, changed);
    told = told || changed;
    // It has ended; nobody has heard of it yet.
    if (!done.ok() && (done.error().code == ESRCH || done.error().kind == ErrorKind::kNotFound)) continue;
    if (!done.ok()) {
      result.problems.push_back(
          fmt::format("process {}: the old rate stays: {}", process.pid, done.error().message));
    } else if (whose ? process == *whose : !rates_.has_own(process)) {
      result.processes.push_back(process);
    }
  }
  if (told) facts_.rates(spans_.list());
  try_again_ = result.problems.empty() ? kTimeMax : os_.now() + kTryAgainAfter;
  return result;
}

Status RateChanges::apply(ProcessSampling& sampled, bool& changed) {
  const Rate* rate = rates_.of(sampled.process);
  if (rate == nullptr && spans_.open(sampled.process) == nullptr) return Ok{};
  const capture::CaptureOptions& wanted = rate == nullptr ? base_ : *rate->capture;
  if (!samples_alike(sampled.options, wanted)) {
    if (Status done = changes_.change_events(sampled, wanted); !done) return done;
  }
  const TimeNs now = os_.now();
  changed = rate == nullptr ? spans_.end(sampled.process, now)
                            : spans_.begin(sampled.process, now, rate->frequency, rate->why);
  return Ok{};
}

}  // namespace tailor::session
