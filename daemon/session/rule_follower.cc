#include "daemon/session/rule_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/os/host_files.h"
#include "daemon/session/registered.h"

namespace tailor::session {
namespace {

constexpr const char* kWhyIgnored = "the configuration says so ([processes] ignore)";
// Processes that rules choose: each takes events on every CPU, and nobody asked for one by one.
constexpr std::size_t kMostByRules = 256;

}  // namespace

RuleFollower::RuleFollower(os::Os& os, pipeline::Pipeline& pipeline, const OnProblem& on_problem,
                           SampledProcesses& sampled, PausedProcesses& paused,
                           const capture::CaptureOptions& capture, ProcessRules rules)
    : os_(os),
      pipeline_(pipeline),
      on_problem_(on_problem),
      sampled_(sampled),
      paused_(paused),
      capture_(capture),
      rules_(std::move(rules)) {}

void RuleFollower::set(ProcessRules rules) {
  rules_ = std::move(rules);
  sampled_.states().apply_to_all(SamplingState::kRefused, SamplingEvent::kRelease);
  for (ProcessSampling& each : sampled_.all()) {
    const auto facts = facts_of(os_, each.process.pid);
    const bool open = each.is_sampling() || each.state() == SamplingState::kReopening;
    if (!open || !facts) continue;
    const bool registered = is_registered(pipeline_, each.process);
    const bool ignored = is_ignored(rules_, *facts);
    const bool chosen = !each.origin.by_rule || registered || rule_for(rules_, *facts) != nullptr;
    if (!ignored && chosen) continue;
    // One that has registered comes back when no rule ignores it any more.
    sampled_.leave(each, registered ? SamplingEvent::kIgnore : SamplingEvent::kLeave,
                   ignored ? kWhyIgnored : "no rule of the configuration names it");
  }
}

void RuleFollower::look(bool ending) {
  waits_ = false;
  settle_ignored();
  if (ending) return;
  forget_refused();
  sample_chosen();
}

// Those that have ended: nobody else hears of their end.
void RuleFollower::forget_refused() {
  for (ProcessId process : sampled_.states().in(SamplingState::kRefused)) {
    const auto there = os::identify(os_, process.pid);
    if (!there.ok() || *there != process) sampled_.states().forget(process);
  }
}

// Goes on with those that are not to be ignored any more.
void RuleFollower::settle_ignored() {
  for (ProcessId process : sampled_.states().in(SamplingState::kIgnored)) {
    const bool registered = is_registered(pipeline_, process);
    if (registered && !why_ignored(process).empty()) continue;
    waits_ = registered && !sampled_.may_open(capture_);
    if (waits_) return;
    sampled_.states().apply(process, SamplingEvent::kRelease);
    if (!registered) continue;
    sampled_.states().forget_why_not(process);
    if (!paused_.pause_if_all_are(process).empty()) continue;
    Status opened = sampled_.open_running(process, capture_, {});
    if (!opened.ok()) sampled_.states().set_why_not(process, opened.error().message);
  }
}

std::string RuleFollower::why_ignored(ProcessId process) {
  if (rules_.ignore.empty()) return {};
  const auto facts = facts_of(os_, process.pid);
  if (!facts || !is_ignored(rules_, *facts)) return {};
  // A paused process stays so until somebody resumes it.
  sampled_.states().apply(process, SamplingEvent::kIgnore);
  if (!paused_.contains(process)) sampled_.states().set_why_not(process, kWhyIgnored);
  return kWhyIgnored;
}

bool RuleFollower::may_choose(ProcessId process) const {
  return !sampled_.contains(process) && !is_registered(pipeline_, process) && !paused_.contains(process) &&
         sampled_.states().state(process) != SamplingState::kRefused;
}

void RuleFollower::sample_chosen() {
  if (rules_.sample.empty() || paused_.all()) return;
  auto by_rules = static_cast<std::size_t>(
      std::ranges::count_if(sampled_.all(), [](const auto& each) { return each.origin.by_rule; }));
  for (const std::int32_t pid : pids_of_host(os_)) {
    const auto facts = facts_of(os_, pid);
    const SampleRule* rule = facts ? rule_for(rules_, *facts) : nullptr;
    if (rule == nullptr) continue;
    const auto process = os::identify(os_, pid);
    if (!process.ok() || !may_choose(*process)) continue;
    if (by_rules >= kMostByRules) {
      sampled_.states().apply(*process, SamplingEvent::kRefuse);
      on_problem_(
          {*process, fmt::format("the rules of the configuration choose more than {} processes: it is "
                                 "not sampled",
                                 kMostByRules)});
      continue;
    }
    waits_ = !sampled_.may_open(capture_);
    if (waits_) return;
    Status opened = sampled_.open_running(*process, capture_,
                                          {.by_rule = true, .names = rule->names, .rules = rule->rules});
    if (!opened.ok()) {
      sampled_.states().apply(*process, SamplingEvent::kRefuse);
      if (opened.error().code != ESRCH) on_problem_({*process, opened.error().message});
      continue;
    }
    sampled_.states().forget_why_not(*process);
    ++by_rules;
  }
}

}  // namespace tailor::session
