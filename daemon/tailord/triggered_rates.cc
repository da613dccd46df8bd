#include "daemon/tailord/triggered_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/tailord/rate_options.h"
#include "proto/base/errors.h"

namespace tailor::tailord {
namespace {

bool records_waits(const capture::CaptureOptions& usual) {
  return std::ranges::any_of(
      usual.events, [](const capture::EventSpec& event) { return event.unit == profile::Unit::kNsOffCpu; });
}

}  // namespace

Result<PreparedRates> prepare_rates(os::Os& os, const Options& options,
                                    const capture::CaptureOptions& usual) {
  PreparedRates rates;
  for (const TriggerRule& rule : options.triggers) {
    if (rule.wait_longer_than && !records_waits(usual))
      return invalid(
          fmt::format("trigger {}: \"wait-longer-than\" needs the times off the CPU, which are not recorded: "
                      "tailord --event auto,off-cpu records them",
                      rule.name));
    if (rates.contains(rule.raise)) continue;
    Raise raise = rule.raise;
    if (raise.frequency == 0) raise.frequency = options.sampling.frequency;
    auto rate = rate_of(os, options, usual, raise, "");
    if (!rate.ok()) return in_context(fmt::format("trigger {}: ", rule.name), rate.error());
    rates.emplace(rule.raise, std::move(*rate));
    if (rates.size() > session::Rates::kMostRates)
      return invalid(
          fmt::format("trigger {}: all triggers together have {} different frequencies, and kinds of "
                      "samples, at most",
                      rule.name, session::Rates::kMostRates));
  }
  return rates;
}

void TriggeredRates::set(TriggerRules rules, PreparedRates rates) {
  triggers_.set(std::move(rules));
  rates_ = std::move(rates);
}

std::vector<session::RateAsked> TriggeredRates::take(TimeNs now,
                                                     const std::function<bool(ProcessId)>& may_raise) {
  std::vector<session::RateAsked> asked;
  const auto run_queue = triggers_.asks_run_queue() ? run_queue_.average(now) : std::nullopt;
  for (Triggers::Fired& fired : triggers_.take(now, may_raise, run_queue)) {
    session::Rate rate = rates_.at(fired.raise);
    rate.until = now + fired.lasts;
    rate.why = std::move(fired.why);
    asked.push_back({fired.process, std::move(rate)});
  }
  return asked;
}

}  // namespace tailor::tailord
