// The part of Recorder that follows the rules of the configuration: who is sampled without having registered,
// and who is not sampled at all.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/os/host_files.h"
#include "daemon/session/host_info.h"
#include "daemon/session/recorder.h"

namespace tailor::session {
namespace {

constexpr const char* kWhyIgnored = "the configuration says so ([processes] ignore)";
// Processes that rules choose: each takes events on every CPU, and nobody asked for one by one.
constexpr std::size_t kMostByRules = 256;

}  // namespace

void Recorder::set_rules(ProcessRules rules) {
  run([&] {
    options_.rules = std::move(rules);
    refused_by_rules_.clear();
    for (ProcessSampling& each : sampled_) {
      const auto facts = facts_of(os_, each.process.pid);
      if (each.state() >= SamplingState::kPausing || !facts) continue;
      const bool ignored = is_ignored(options_.rules, *facts);
      const bool chosen =
          !each.by_rule || is_registered(each.process) || rule_for(options_.rules, *facts) != nullptr;
      if (ignored || !chosen) leave(each, ignored ? kWhyIgnored : "no rule of the configuration names it");
    }
    settle_ignored();
    follow_rules();
  });
}

void Recorder::set_keep_literals(bool keep) {
  run([&] { options_.keep_literals = keep; });
}

// The process goes on unsampled.
void Recorder::leave(ProcessSampling& sampled, const char* why) {
  const bool open = sampled.is_sampling();
  if (!sampled.leave()) return;
  not_sampled_[sampled.process] = why;
  if (is_registered(sampled.process)) ignored_.insert(sampled.process);
  if (open) reader_->remove(sampled.recording);
}

// Goes on with those that are not to be ignored any more.
void Recorder::settle_ignored() {
  for (ProcessId process : std::set<ProcessId>(ignored_)) {
    // Where the old events are not closed yet, the next look is in time.
    if (is_sampled(process)) continue;
    if (is_registered(process) && !ignore_if_told(process).empty()) continue;
    ignored_.erase(process);
    if (!is_registered(process)) continue;
    not_sampled_.erase(process);
    if (!pause_if_all_are(process).empty()) continue;
    Status sampled = sample(known_process(os_, process), options_.capture);
    if (!sampled.ok()) not_sampled_[process] = sampled.error().message;
  }
}

// "" if it may be sampled.
std::string Recorder::ignore_if_told(ProcessId process) {
  if (options_.rules.ignore.empty()) return {};
  const auto facts = facts_of(os_, process.pid);
  if (!facts || !is_ignored(options_.rules, *facts)) return {};
  ignored_.insert(process);
  not_sampled_[process] = kWhyIgnored;
  return kWhyIgnored;
}

// Looks at all processes of the host, because a process may become another program at any time.
void Recorder::follow_rules() {
  if (options_.rules.sample.empty() || pauses_.all() || ending_) return;
  auto by_rules = static_cast<std::size_t>(std::ranges::count_if(sampled_, &ProcessSampling::by_rule));
  for (const std::int32_t pid : pids_of_host(os_)) {
    const auto facts = facts_of(os_, pid);
    const SampleRule* rule = facts ? rule_for(options_.rules, *facts) : nullptr;
    if (rule == nullptr) continue;
    const auto process = os::identify(os_, pid);
    if (!process.ok() || is_sampled(*process) || is_registered(*process) || paused_.contains(*process) ||
        refused_by_rules_.contains(*process))
      continue;
    if (by_rules >= kMostByRules) {
      refused_by_rules_.insert(*process);
      on_problem_(
          {*process, fmt::format("the rules of the configuration choose more than {} processes: it is "
                                 "not sampled",
                                 kMostByRules)});
      continue;
    }
    names_from_[*process] = rule->names;
    Status sampled = sample(known_process(os_, *process), options_.capture);
    if (!sampled.ok()) {
      names_from_.erase(*process);
      refused_by_rules_.insert(*process);
      if (sampled.error().code != ESRCH) on_problem_({*process, sampled.error().message});
      continue;
    }
    not_sampled_.erase(*process);
    sampled_.back().by_rule = true;
    ++by_rules;
  }
}

}  // namespace tailor::session
