// Numbers of plans, code objects, executions, engine components and kinds of regions, as profiles have them
// (process/agent_numbers.h).
#pragma once

#include <memory>

#include "daemon/process/process_state.h"
#include "daemon/registration/events.h"
#include "tailor/thread_area.h"

namespace tailor::pipeline {

// A message with the numbers that a profile has for what it names.
class Renumbered {
 public:
  // Notes the numbers of what it brings. `said` must outlive this.
  Renumbered(const registration::PeerMessage& said, process::ProcessState& state);
  Renumbered(const Renumbered&) = delete;
  Renumbered& operator=(const Renumbered&) = delete;

  const v1::AgentMessage& message() const { return large_ ? large_->message() : *message_; }
  // NULL: it is none.
  const std::shared_ptr<registration::LargeMessage>& large() const { return large_; }

 private:
  v1::AgentMessage own_;  // where another one was made of a message
  const v1::AgentMessage* message_;
  std::shared_ptr<registration::LargeMessage> large_;
};

// The same of a mark.
tailor_log_record renumbered(const tailor_log_record& said, const process::AgentNumbers& numbers);

}  // namespace tailor::pipeline
