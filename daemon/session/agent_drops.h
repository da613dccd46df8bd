// What agents had to say and the daemon never heard: messages that they dropped because their queues were
// full, and those that were still in their queues when the connection ended. The counters lie in the agent's
// memory. They are claims, and are shown as such.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/registration/arena_view.h"
#include "daemon/registration/events.h"

namespace tailor::session {

// Messages in the queue of an agent that nobody pumps any more, as its memory says. It may be one too many:
// the agent may have ended between sending a message and counting it. `settled`: the most that
// `messages_settled` has been, for agents that do not count what they take. Pure.
std::uint64_t unsent_of(const registration::ArenaView& arena, std::uint64_t settled);

// Control thread only.
class AgentDrops {
 public:
  // All must outlive this.
  AgentDrops(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input)
      : os_(os), pipeline_(pipeline), input_(input) {}

  void mapped(const registration::ArenaMapped& event);
  // Tells what was dropped since the last call, of all processes.
  void tell();
  // The connection of this process ended. The same of it for the last time, and what it has not sent.
  void gone(ProcessId process);
  // The recording ends. Of agents whose words of before `until` have not all arrived, what they did not send.
  // Returns their processes: what they have sent may not be read either.
  std::vector<ProcessId> end(TimeNs until);

 private:
  struct Agent {
    std::shared_ptr<const registration::ArenaView> arena;  // the first of its arenas
    std::uint64_t dropped = 0;                             // told
    std::uint64_t settled = 0;                             // the most that was seen
  };
  void tell_dropped(ProcessId process, Agent& agent);
  void tell_unsent(ProcessId process, const Agent& agent);
  bool is_possible(std::uint64_t messages) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  pipeline::Input& input_;
  std::map<ProcessId, Agent> agents_;
};

}  // namespace tailor::session
