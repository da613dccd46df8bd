// What travels from engine threads to the sender: an encoded tailor.v1.AgentMessage and the little that the
// sender must know about it without decoding it.
#pragma once

#include <cstdint>
#include <span>

namespace tailor::agent {

// Numbered like the fields of AgentMessage.body (proto/tailor/v1/registration.proto).
enum class MessageKind : std::uint32_t {
  kHello = 10,
  kArenaAdd = 11,
  kThreadAdd = 12,
  kThreadRemove = 13,
  kPlanLoad = 14,
  kPlanUnload = 15,
  kCodeLoad = 16,
  kCodeUnload = 17,
  kExecutionBegin = 18,
  kExecutionEnd = 19,
  kComponentDeclare = 20,
  kComponentCode = 21,
  kRegionKind = 22,
  kBarrier = 23,
  kGoodbye = 24,
  kWaitNames = 25,
  kNotice = 26,
  kBlocked = 27,
};

struct MessageHead {
  MessageKind kind = MessageKind::kGoodbye;
  std::uint64_t tsc = 0;    // when the engine said it
  std::uint64_t key = 0;    // names the thing that begins or ends: plan id, code id, execution handle ...
  std::uint64_t owner = 0;  // plan id whose end ends the thing too, 0 none
};

struct MessageView {
  MessageHead head;
  std::span<const char> bytes;
};

}  // namespace tailor::agent
