#include "daemon/session/process_states.h"

#include <utility>

namespace tailor::session {

SamplingState ProcessStates::state(ProcessId process) const {
  const auto known = known_.find(process);
  return known == known_.end() ? SamplingState::kUnsampled : known->second.state;
}

bool ProcessStates::apply(ProcessId process, SamplingEvent event) {
  const auto next = next_state(state(process), event);
  if (!next) return false;
  Known& known = known_[process];
  known.state = *next;
  if (*next != SamplingState::kPaused) known.kept.reset();
  drop_if_empty(process);
  return true;
}

std::vector<ProcessId> ProcessStates::in(SamplingState state) const {
  std::vector<ProcessId> out;
  for (const auto& [process, known] : known_) {
    if (known.state == state) out.push_back(process);
  }
  return out;
}

void ProcessStates::apply_to_all(SamplingState state, SamplingEvent event) {
  for (ProcessId process : in(state)) apply(process, event);
}

std::string ProcessStates::why_not(ProcessId process) const {
  const auto known = known_.find(process);
  return known == known_.end() ? std::string() : known->second.why_not;
}

void ProcessStates::set_why_not(ProcessId process, std::string why) {
  known_[process].why_not = std::move(why);
  drop_if_empty(process);
}

void ProcessStates::keep(ProcessId process, Sampled how) {
  const auto known = known_.find(process);
  if (known != known_.end() && known->second.state == SamplingState::kPaused)
    known->second.kept = std::move(how);
}

std::optional<Sampled> ProcessStates::kept(ProcessId process) const {
  const auto known = known_.find(process);
  return known == known_.end() ? std::nullopt : known->second.kept;
}

void ProcessStates::drop_if_empty(ProcessId process) {
  const auto known = known_.find(process);
  if (known->second.state == SamplingState::kUnsampled && known->second.why_not.empty()) known_.erase(known);
}

}  // namespace tailor::session
