#include "daemon/session/agent_drops.h"

#include <algorithm>

namespace tailor::session {
namespace {

constexpr std::uint64_t kNsAMessage = 100;  // at least, since the host was started

}  // namespace

std::uint64_t unsent_of(const registration::ArenaView& arena, std::uint64_t settled) {
  const std::uint64_t taken = std::max({arena.messages_taken(), arena.messages_settled(), settled});
  const std::uint64_t queued = arena.messages_queued();
  return queued - std::min(queued, taken);
}

void AgentDrops::mapped(const registration::ArenaMapped& event) {
  if (event.index == 0) agents_[event.process] = {event.arena};
}

void AgentDrops::tell() {
  for (auto& [process, agent] : agents_) tell_dropped(process, agent);
}

void AgentDrops::gone(ProcessId process) {
  auto agent = agents_.extract(process);
  if (agent.empty()) return;
  tell_dropped(process, agent.mapped());
  tell_unsent(process, agent.mapped());
}

std::vector<ProcessId> AgentDrops::end(TimeNs until) {
  std::vector<ProcessId> behind;
  for (auto& [process, agent] : agents_) {
    tell_dropped(process, agent);
    const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
    if (entry == nullptr || entry->connection == 0 || entry->settled >= until) continue;
    tell_unsent(process, agent);
    behind.push_back(process);
  }
  return behind;
}

void AgentDrops::tell_dropped(ProcessId process, Agent& agent) {
  agent.settled = std::max(agent.settled, agent.arena->messages_settled());
  const std::uint64_t dropped = agent.arena->messages_dropped();
  if (dropped == agent.dropped || !is_possible(dropped)) return;
  agent.dropped = dropped;
  input_.on_agent_dropped(process, dropped);
}

void AgentDrops::tell_unsent(ProcessId process, const Agent& agent) {
  const std::uint64_t unsent = unsent_of(*agent.arena, agent.settled);
  if (unsent > 0 && is_possible(unsent)) input_.on_agent_unsent(process, unsent);
}

bool AgentDrops::is_possible(std::uint64_t messages) const {
  return messages <= static_cast<std::uint64_t>(os_.now()) / kNsAMessage;
}

}  // namespace tailor::session
