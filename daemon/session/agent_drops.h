// What agents themselves dropped because their queues were full. The counter lies in the agent's memory: it
// is a claim, and is shown as such.
#pragma once

#include <map>
#include <memory>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/registration/arena_view.h"
#include "daemon/registration/events.h"

namespace tailor::session {

// Control thread only.
class AgentDrops {
 public:
  // All must outlive this.
  AgentDrops(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input)
      : os_(os), pipeline_(pipeline), input_(input) {}

  void mapped(const registration::ArenaMapped& event);
  // Tells what has changed, of all processes.
  void tell() const;
  // The same of this process, for the last time.
  void gone(ProcessId process);

 private:
  void tell(ProcessId process, const registration::ArenaView& arena) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  pipeline::Input& input_;
  std::map<ProcessId, std::shared_ptr<const registration::ArenaView>> arenas_;  // the first of each
};

}  // namespace tailor::session
