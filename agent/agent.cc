#include "agent/agent.h"

#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <tailor/agent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace tailor::agent {

int Agent::prepare() noexcept {
  if (!queue_.valid()) return -ENOMEM;
  if (!arenas_.start()) return errno != 0 ? -errno : -ENOMEM;
  std::uint8_t random[24];
  if (::getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) return -EAGAIN;
  std::memcpy(instance_.data(), random, instance_.size());
  std::memcpy(&tag_key_, random + instance_.size(), sizeof(tag_key_));
  return 0;
}

MessageQueue::Urgency Agent::urgency_of(MessageKind kind) {
  switch (kind) {
    case MessageKind::kThreadRemove:
    case MessageKind::kPlanUnload:
    case MessageKind::kCodeUnload:
    case MessageKind::kExecutionEnd:
    case MessageKind::kBarrier:
      return MessageQueue::Urgency::kEnds;
    default:
      return MessageQueue::Urgency::kBegins;
  }
}

std::uint64_t Agent::next_execution() noexcept {
  std::uint64_t number = next_execution_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t untagged = sender_.untagged_permille();
  // Of an engine that has no tags, or keeps them whatever it is told, no execution is one without tags: what
  // is compared with these would be wrong.
  const bool obeys = tag_strategy_ != TAILOR_TAGS_NONE && asks_for_tags_.load(std::memory_order_relaxed);
  if (untagged == 0 || !obeys) return number;
  // Spread over the executions, in no step with anything that repeats (the finaliser of SplitMix64).
  std::uint64_t mixed = number + tag_key_;
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
  mixed ^= mixed >> 31;
  return mixed % 1000 < untagged ? number | kUntagged : number;
}

// A bijection, so that the first digits tell the executions of an agent apart.
std::uint64_t Agent::identity_number(std::uint64_t execution) const noexcept {
  std::uint64_t mixed = 0;
  std::memcpy(&mixed, instance_.data() + 8, 8);
  mixed += execution;
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
  return mixed ^ (mixed >> 31);
}

bool Agent::start_sending(const Identity& identity, bool threadless) noexcept {
  if (threadless && !background_.ended()) return false;  // one of an earlier start, about to end
  threadless_ = threadless;
  tag_strategy_ = identity.tag_strategy;
  if (!threadless) return background_.start(identity);
  try {
    sender_.begin(identity);
  } catch (...) {
    return false;
  }
  return true;
}

void Agent::stop_sending(std::uint32_t timeout_ms) noexcept {
  if (!threadless_) return background_.stop(timeout_ms);
  const std::int64_t deadline = now_ms() + timeout_ms;
  pump_until(deadline, [this] { return queue_.empty(); });
  if (!hold_pump()) return;
  sender_.end();
  release_pump();
}

std::optional<Agent::Pumped> Agent::pump_once() noexcept {
  if (pumping_.exchange(true, std::memory_order_acquire)) return std::nullopt;
  Pumped pumped{sender_.pump(), sender_.socket()};
  release_pump();
  return pumped;
}

int Agent::pump() noexcept {
  auto pumped = pump_once();
  if (!pumped) return -EBUSY;
  return pumped->state == Sender::State::kMore || pumped->state == Sender::State::kFull;
}

template <typename Done>
void Agent::pump_until(std::int64_t deadline_ms, Done done) noexcept {
  constexpr std::int64_t kSliceMs = 5;
  while (true) {
    auto pumped = pump_once();
    std::int64_t left = deadline_ms - now_ms();
    if (done() || left <= 0) return;
    if (pumped && pumped->state == Sender::State::kMore) continue;
    pollfd answer{pumped ? pumped->socket : -1, POLLIN, 0};
    ::poll(&answer, 1, static_cast<int>(std::min(left, kSliceMs)));
  }
}

bool Agent::barrier(std::uint32_t timeout_ms) noexcept {
  constexpr int kSliceMs = 1;
  const std::int64_t deadline = now_ms() + timeout_ms;
  const std::uint32_t sequence = next_barrier_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto has_room = [this] { return queue_.has_room(kFixedBound, urgency_of(MessageKind::kBarrier)); };
  if (threadless_) pump_until(deadline, has_room);
  while (!has_room() && now_ms() < deadline) ::poll(nullptr, 0, kSliceMs);
  const bool posted = post({MessageKind::kBarrier, 0, sequence, 0}, kFixedBound,
                           [&](FixedWire& body) { body.number(1, sequence); });
  const std::int64_t left = deadline - now_ms();
  if (!posted || left < 0) return false;
  if (!threadless_) return sender_.await_barrier(sequence, static_cast<std::uint32_t>(left));
  pump_until(deadline, [&] { return sender_.acknowledged(sequence); });
  return sender_.acknowledged(sequence);
}

bool Agent::hold_pump() noexcept {
  constexpr std::int64_t kPatienceMs = 1000;  // a pump never waits, but its thread may have to
  const std::int64_t deadline = now_ms() + kPatienceMs;
  while (pumping_.exchange(true, std::memory_order_acquire)) {
    if (now_ms() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

void Agent::let_go_after_fork() noexcept {
  sender_.close_after_fork();
  background_.forget_after_fork();
  arenas_.make_private_after_fork();
  queue_.drop();
}

bool Agent::continue_after_fork(const ThreadArea* mine) noexcept {
  std::uint8_t random[16];
  if (::getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) return false;
  std::memcpy(instance_.data(), random, instance_.size());
  sender_.close_after_fork();
  if (!arenas_.renew_after_fork(mine)) return false;
  sender_.continue_after_fork(instance_);
  queue_.forget_uncommitted();
  auto* header = arenas_.header();
  std::atomic_ref(header->messages_queued).store(sender_.settled(), std::memory_order_relaxed);
  std::atomic_ref(header->messages_taken).store(sender_.settled(), std::memory_order_relaxed);
  return true;
}

bool post_component(Agent& agent, std::uint32_t id, std::string_view name) noexcept {
  return agent.post({MessageKind::kComponentDeclare, 0, id, 0}, kFixedBound + name.size(),
                    [&](FixedWire& body) {
                      body.number(1, id);
                      body.text(2, name);
                    });
}

void post_notice(Agent& agent, Notice kind) noexcept {
  const char* text = noticed(kind);
  if (!text || kind == Notice::kForked) return;  // a program that started one after a fork did it right
  const std::string_view view(text);
  const auto number = static_cast<std::uint64_t>(kind) + 1;
  agent.post({MessageKind::kNotice, 0, number, 0}, kFixedBound + view.size(), [&](FixedWire& body) {
    body.number(1, number);
    body.text(2, view);
  });
}

}  // namespace tailor::agent
