#include "daemon/tailord/triggered_rates.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/tailord/rate_options.h"
#include "proto/base/errors.h"

namespace tailor::tailord {

Result<PreparedRates> prepare_rates(os::Os& os, const Options& options,
                                    const capture::CaptureOptions& usual) {
  PreparedRates rates;
  for (const TriggerRule& rule : options.triggers) {
    if (rates.contains(rule.frequency)) continue;
    auto rate = rate_of(os, options, usual, rule.frequency, "");
    if (!rate.ok()) return in_context(fmt::format("trigger {}: ", rule.name), rate.error());
    rates.emplace(rule.frequency, std::move(*rate));
    if (rates.size() > session::Rates::kMostRates)
      return invalid(fmt::format("trigger {}: all triggers together have {} different frequencies at most",
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
  for (Triggers::Fired& fired : triggers_.take(now, may_raise)) {
    session::Rate rate = rates_.at(fired.frequency);
    rate.until = now + fired.lasts;
    rate.why = std::move(fired.why);
    asked.push_back({fired.process, std::move(rate)});
  }
  return asked;
}

}  // namespace tailor::tailord
