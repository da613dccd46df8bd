#include "daemon/tailord/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/leader.h"
#include "daemon/serve/fingerprint.h"
#include "proto/base/hex.h"

namespace tailor::tailord {
namespace {

constexpr std::size_t kLongestProcessName = 64;  // of what is kept of a process's names

constexpr double kLongestWait = 1e15;  // ns, some days

std::string seconds(TimeNs ns) {
  const double s = static_cast<double>(ns) / 1e9;
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

}  // namespace

void Triggers::set(TriggerRules rules) {
  rules_ = std::move(rules);
  due_.clear();
  running_.clear();
  counts_.clear();
  for (const TriggerRule& rule : rules_) counts_.push_back({rule.name});
  // A reload with the same rule is no way around its budget.
  std::erase_if(spent_, [&](const auto& each) {
    return std::ranges::find(rules_, each.first, &TriggerRule::name) == rules_.end();
  });
}

void Triggers::on_process(const profile::ProcessRecord& process) {
  names_.get(process.process) = {process.engine_name.substr(0, kLongestProcessName),
                                 process.comm.substr(0, kLongestProcessName)};
}

// Of executions that bring neither their own id nor a text.
void Triggers::on_plan(ProcessId process, TimeNs, const v1::Plan& plan) {
  store::ExecutionRow row;
  row.plan_name = plan.name();
  plans_.get({process, plan.id()}) = serve::fingerprint_of(row);
}

void Triggers::on_execution(const profile::ExecutionRecord& execution) {
  // What the workers of a query do is its leader's.
  if (rules_.empty() || profile::leader_of(execution)) return;
  if (execution.end == kTimeMax) {
    begin(execution);
  } else {
    end(execution);
  }
}

std::string Triggers::fingerprint_of(const profile::ExecutionRecord& execution) {
  store::ExecutionRow row;
  row.record.labels = execution.labels;
  if (!serve::label_of(row, "fingerprint").empty() || !serve::label_of(row, "query").empty())
    return serve::fingerprint_of(row);
  const std::string* of_plan = plans_.find({execution.process, execution.plan});
  return of_plan == nullptr ? "" : *of_plan;
}

bool Triggers::matches(const TriggerRule& rule, const profile::ExecutionRecord& execution,
                       const std::string& fingerprint) {
  if (!rule.fingerprint.empty() && rule.fingerprint != fingerprint) return false;
  if (!rule.execution.empty() &&
      !hex_text(std::as_bytes(std::span(execution.id.bytes))).starts_with(rule.execution))
    return false;
  if (!rule.process.empty()) {
    const auto* names = names_.find(execution.process);
    if (names == nullptr || std::ranges::find(*names, rule.process) == names->end()) return false;
  }
  if (rule.label_key.empty()) return true;
  return std::ranges::any_of(execution.labels, [&](const auto& label) {
    return label.first == rule.label_key && (!rule.label_value || label.second == *rule.label_value);
  });
}

std::optional<TimeNs> Triggers::usual_time(const std::string& fingerprint, TimeNs now) {
  const UsualTime* known = fingerprint.empty() ? nullptr : usual_.find(fingerprint);
  return known == nullptr ? std::nullopt : known->get(now);
}

// An execution that is told again has the same begin.
void Triggers::begin(const profile::ExecutionRecord& execution) {
  const Run run{execution.process, execution.handle};
  if (running_.size() >= kMostRunning || running_.contains(run)) return;
  Running& running = running_[run];
  running.fingerprint = fingerprint_of(execution);
  running.begin = execution.begin;
  running.is_sum = profile::adds_up_runs(execution);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const TriggerRule& rule = rules_[i];
    if (!matches(rule, execution, running.fingerprint)) continue;
    if (!rule.slower_than_usual) {
      due_.insert({execution.begin, run, i, 0});
    } else if (running.is_sum) {
      continue;  // many runs after each other are no slow one
    } else if (const auto usual = usual_time(running.fingerprint, execution.begin)) {
      const double after = std::min(static_cast<double>(*usual) * *rule.slower_than_usual, kLongestWait);
      const Due due{execution.begin + static_cast<TimeNs>(after), run, i, std::max<TimeNs>(*usual, 1)};
      running.dues.push_back(due);
      due_.insert(due);
    }
  }
}

// A rule without a time holds of an execution that was over before anybody looked, too.
void Triggers::end(const profile::ExecutionRecord& execution) {
  const auto ended = running_.extract(Run{execution.process, execution.handle});
  if (ended.empty()) return;
  for (const Due& due : ended.mapped().dues) {
    if (due.at > execution.end) due_.erase(due);
  }
  // How long a run takes that is one of many is no measure for a run of its own.
  if (ended.mapped().is_sum || execution.added != nullptr) return;
  if (execution.error.empty() && !ended.mapped().fingerprint.empty())
    usual_.get(ended.mapped().fingerprint).add(execution.end, execution.end - ended.mapped().begin);
}

std::string Triggers::why(const Due& due) const {
  const TriggerRule& rule = rules_[due.rule];
  if (due.usual == 0) return fmt::format("trigger {}", rule.name);
  return fmt::format("trigger {}: a query ran {:g} times its usual {}", rule.name, *rule.slower_than_usual,
                     seconds(due.usual));
}

bool Triggers::affords(const TriggerRule& rule, TimeNs now) {
  constexpr TimeNs kBudgetPeriod = TimeNs{3600} * 1'000'000'000;
  auto& spent = spent_[rule.name];
  while (!spent.empty() && spent.front().first <= now - kBudgetPeriod) spent.pop_front();
  TimeNs sum = rule.lasts;
  for (const auto& [at, lasts] : spent) sum += lasts;
  return sum <= rule.budget;
}

std::vector<Triggers::Fired> Triggers::take(TimeNs now, const std::function<bool(ProcessId)>& may_raise) {
  std::vector<Fired> fired;
  while (!due_.empty() && due_.begin()->at <= now) {
    const Due due = due_.extract(due_.begin()).value();
    const TriggerRule& rule = rules_[due.rule];
    const ProcessId process = due.run.first;
    const std::pair key{rule.name, process};
    const TimeNs* cool_until = cool_until_.find(key);
    const bool cooling = cool_until != nullptr && now < *cool_until;
    const bool raised = std::ranges::find(fired, process, &Fired::process) != fired.end();
    if (cooling || raised || !may_raise(process) || !affords(rule, now)) {
      ++counts_[due.rule].skipped;
      continue;
    }
    ++counts_[due.rule].fired;
    spent_[rule.name].emplace_back(now, rule.lasts);
    cool_until_.get(key) = now + rule.lasts + rule.cool_down;
    fired.push_back({process, rule.frequency, rule.lasts, why(due)});
  }
  return fired;
}

}  // namespace tailor::tailord
