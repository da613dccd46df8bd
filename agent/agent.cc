#include "agent/agent.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace tailor::agent {

int Agent::Prepare() noexcept {
  if (!queue_.valid() || !arenas_.Start()) return -ENOMEM;
  std::uint8_t random[24];
  if (::getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) return -EAGAIN;
  std::memcpy(session_.data(), random, session_.size());
  std::memcpy(&tag_key_, random + session_.size(), sizeof(tag_key_));
  return 0;
}

MessageQueue::Urgency Agent::UrgencyOf(MessageKind kind) {
  switch (kind) {
    case MessageKind::kThreadRemove:
    case MessageKind::kPlanUnload:
    case MessageKind::kCodeUnload:
    case MessageKind::kExecutionEnd:
      return MessageQueue::Urgency::kEnds;
    default:
      return MessageQueue::Urgency::kBegins;
  }
}

void Agent::LetGoAfterFork() noexcept {
  sender_.CloseAfterFork();
  arenas_.MakePrivateAfterFork();
  queue_.Drop();
}

void PostComponent(Agent& agent, std::uint32_t id, std::string_view name) noexcept {
  agent.Post({MessageKind::kComponentDeclare, 0, id, 0}, kFixedBound + name.size(),
             [&](Encoder& encoder, Encoder::Writer& body) {
               body.add_uint32(1, id);
               encoder.Text(body, 2, name);
             });
}

}  // namespace tailor::agent
