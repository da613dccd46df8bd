#include "daemon/session/agent_drops.h"

#include <cstdint>

namespace tailor::session {
namespace {

constexpr std::uint64_t kNsAMessage = 100;  // at least, since the host was started

}  // namespace

void AgentDrops::mapped(const registration::ArenaMapped& event) {
  if (event.index == 0) arenas_[event.process] = event.arena;
}

void AgentDrops::tell() const {
  for (const auto& [process, arena] : arenas_) tell(process, *arena);
}

void AgentDrops::gone(ProcessId process) {
  if (const auto arena = arenas_.extract(process)) tell(process, *arena.mapped());
}

void AgentDrops::tell(ProcessId process, const registration::ArenaView& arena) const {
  const std::uint64_t dropped = arena.messages_dropped();
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  if (entry == nullptr || entry->accounting.agent_dropped == dropped) return;
  if (dropped > static_cast<std::uint64_t>(os_.now()) / kNsAMessage) return;
  input_.on_agent_dropped(process, dropped);
}

}  // namespace tailor::session
