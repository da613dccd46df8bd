#include "daemon/tailord/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/leader.h"
#include "daemon/query/time/waits.h"
#include "daemon/serve/fingerprint.h"
#include "proto/base/hex.h"

namespace tailor::tailord {
namespace {

constexpr std::size_t kLongestProcessName = 64;  // of what is kept of a process's names

constexpr double kLongestWait = 1e15;         // ns, some days
constexpr std::size_t kLongestWaitName = 64;  // of what is told of an engine's name for a wait

std::string seconds(TimeNs ns) {
  const double s = static_cast<double>(ns) / 1e9;
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

// What each sample brings more than before; "": nothing.
std::string more_text(const Raise& raise) {
  if (raise.callchain && raise.memory) return "with call chains and data addresses";
  if (raise.callchain) return "with call chains";
  return raise.memory ? "with data addresses" : "";
}

bool is_above(const TriggerRule& rule, std::optional<double> run_queue) {
  return !rule.run_queue_above || (run_queue && *run_queue > *rule.run_queue_above);
}

}  // namespace

void Triggers::set(TriggerRules rules) {
  rules_ = std::move(rules);
  due_.clear();
  running_.clear();
  held_.clear();
  waiting_ = RecentlyUsed<Run, std::vector<std::size_t>>(kMostWaiting);
  asks_waits_ =
      std::ranges::any_of(rules_, [](const auto& rule) { return rule.wait_longer_than.has_value(); });
  asks_run_queue_ =
      std::ranges::any_of(rules_, [](const auto& rule) { return rule.run_queue_above.has_value(); });
  counts_runs_ = counts_runs_ || std::ranges::any_of(rules_, [](const auto& rule) {
                   return rule.slower_than_usual.has_value();
                 });
  counts_.clear();
  for (const TriggerRule& rule : rules_) counts_.push_back({rule.name});
  // A reload with the same rule is no way around its budget.
  std::erase_if(spent_, [&](const auto& each) {
    return std::ranges::find(rules_, each.first, &TriggerRule::name) == rules_.end();
  });
}

// Of more queries than there is room for, those that ran last stay.
void Triggers::know(std::span<const PastRun> runs) {
  for (const PastRun& run : std::views::reverse(runs))
    usual_.get(run.fingerprint).add(run.ended, run.elapsed);
}

void Triggers::on_process(const profile::ProcessRecord& process) {
  names_.get(process.process) = {process.engine_name.substr(0, kLongestProcessName),
                                 process.comm.substr(0, kLongestProcessName)};
}

// Of executions that bring neither an id of their query nor a text.
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
  for (const char* key : {"fingerprint", "query_id", "query"}) {
    if (!serve::label_of(row, key).empty()) return serve::fingerprint_of(row);
  }
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
    if (rule.wait_longer_than) {
      auto& waiting = waiting_.get(run);
      // An engine may end it and begin it again, and again.
      if (std::ranges::find(waiting, i) == waiting.end()) waiting.push_back(i);
    } else if (!rule.slower_than_usual) {
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
  for (auto& [rule, runs] : held_) runs.erase(ended.key());
  for (const Due& due : ended.mapped().dues) {
    if (due.at > execution.end) due_.erase(due);
  }
  // How long a run takes that is one of many is no measure for a run of its own.
  if (!counts_runs_ || ended.mapped().is_sum || execution.added != nullptr) return;
  if (execution.error.empty() && !ended.mapped().fingerprint.empty())
    usual_.get(ended.mapped().fingerprint).add(execution.end, execution.end - ended.mapped().begin);
}

void Triggers::on_recording(const profile::RecordingInfo& info) {
  off_cpu_.clear();
  for (const profile::Source& source : info.sources) {
    if (source.unit == profile::Unit::kNsOffCpu) off_cpu_.insert(source.index);
  }
  wait_names_ = info.wait_names;
}

void Triggers::on_samples(std::span<const profile::SampleRecord> samples) {
  if (!asks_waits_ || off_cpu_.empty()) return;
  for (const profile::SampleRecord& sample : samples) {
    if (sample.attribution.execution != 0 && off_cpu_.contains(sample.source)) look_at_wait(sample);
  }
}

// A rule holds of an execution once.
void Triggers::look_at_wait(const profile::SampleRecord& sample) {
  const Run run{sample.process, sample.attribution.execution};
  std::vector<std::size_t>* rules = waiting_.find(run);
  if (rules == nullptr) return;
  std::erase_if(*rules, [&](std::size_t rule) {
    const bool holds = is_long(rules_[rule], sample);
    if (holds) due_.insert({sample.time, run, rule, 0, wait_text(sample)});
    return holds;
  });
}

// A thread that is in the run queue waits for nothing but a CPU.
bool Triggers::is_long(const TriggerRule& rule, const profile::SampleRecord& sample) const {
  if (sample.wait == profile::Wait::kNone || sample.wait == profile::Wait::kRunnable) return false;
  if (sample.weight < static_cast<std::uint64_t>(rule.wait_longer_than.value_or(kTimeMax))) return false;
  const std::string_view name = name_of_wait(sample);
  if (rule.wait.empty()) return sample.wait == profile::Wait::kLock || !name.empty();
  return rule.wait == query::wait_key(sample.wait) || rule.wait == name ||
         (name.starts_with(rule.wait) && name.substr(rule.wait.size()).starts_with(':'));
}

std::string_view Triggers::name_of_wait(const profile::SampleRecord& sample) const {
  const std::size_t number = sample.engine_wait;
  return number == 0 || number > wait_names_.size() ? std::string_view() : wait_names_[number - 1];
}

// An engine's name may hold anything.
std::string Triggers::wait_text(const profile::SampleRecord& sample) const {
  const std::string_view name = name_of_wait(sample);
  std::string shown(name.empty() ? query::wait_key(sample.wait) : name.substr(0, kLongestWaitName));
  std::ranges::replace_if(shown, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return fmt::format("{} ({})", seconds(static_cast<TimeNs>(sample.weight)), shown);
}

bool Triggers::hold(const Due& due, std::optional<double> run_queue) {
  if (is_above(rules_[due.rule], run_queue)) return false;
  if (running_.contains(due.run)) held_[due.rule].insert_or_assign(due.run, due);
  return true;
}

void Triggers::release(std::optional<double> run_queue) {
  for (auto& [rule, runs] : held_) {
    if (runs.empty() || !is_above(rules_[rule], run_queue)) continue;
    for (auto& [run, due] : runs) due_.insert(std::move(due));
    runs.clear();
  }
}

std::string Triggers::why(const Due& due, std::optional<double> run_queue) const {
  const TriggerRule& rule = rules_[due.rule];
  std::string out = fmt::format("trigger {}", rule.name);
  const char* before = ": ";
  if (due.usual != 0) {
    out += fmt::format("{}a query ran {:g} times its usual {}", before, *rule.slower_than_usual,
                       seconds(due.usual));
    before = ", and ";
  }
  if (!due.wait.empty()) {
    out += fmt::format("{}a query waited {}", before, due.wait);
    before = ", and ";
  }
  if (rule.run_queue_above)
    out += fmt::format("{}the run queue was {:.3g} on average", before, run_queue.value_or(0));
  if (const std::string more = more_text(rule.raise); !more.empty())
    out += (out.find(": ") == std::string::npos ? ": " : ", ") + more;
  return out;
}

bool Triggers::affords(const TriggerRule& rule, TimeNs now) {
  constexpr TimeNs kBudgetPeriod = TimeNs{3600} * 1'000'000'000;
  auto& spent = spent_[rule.name];
  while (!spent.empty() && spent.front().first <= now - kBudgetPeriod) spent.pop_front();
  TimeNs sum = rule.lasts;
  for (const auto& [at, lasts] : spent) sum += lasts;
  return sum <= rule.budget;
}

std::vector<Triggers::Fired> Triggers::take(TimeNs now, const std::function<bool(ProcessId)>& may_raise,
                                            std::optional<double> run_queue) {
  std::vector<Fired> fired;
  release(run_queue);
  while (!due_.empty() && due_.begin()->at <= now) {
    const Due due = due_.extract(due_.begin()).value();
    if (hold(due, run_queue)) continue;
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
    fired.push_back({process, rule.raise, rule.lasts, why(due, run_queue)});
  }
  return fired;
}

}  // namespace tailor::tailord
