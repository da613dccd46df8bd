#include "daemon/session/code_models.h"

namespace tailor::session {

void CodeModels::connected(const registration::PeerConnected& event) {
  stacks_.connected(event);
  opener_.tags(event.process.pid, unwind::tag_word(event.hello));
}

void CodeModels::message(const registration::PeerMessage& event) {
  stacks_.message(event);
  // The ranges of code, for samples in that of plans alone: they need no stack.
  const v1::AgentMessage& message = event.said();
  if (message.has_code_load()) {
    const v1::CodeObject& code = message.code_load();
    const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
    opener_.add_code(event.process.pid, code.id(), code.base(), size, code.plan_id() != 0);
  }
  if (message.has_code_unload()) {
    opener_.remove_code(event.process.pid, message.code_unload().code_id());
  }
}

void CodeModels::gone(const registration::PeerGone& event) {
  stacks_.gone(event);
  opener_.gone(event.process.pid);
}

}  // namespace tailor::session
