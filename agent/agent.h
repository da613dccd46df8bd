// The agent of this process: its parts, and how engine threads reach them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "agent/background.h"
#include "agent/components.h"
#include "agent/encode.h"
#include "agent/message_queue.h"
#include "agent/notices.h"
#include "agent/plan_slots.h"
#include "agent/region_kinds.h"
#include "agent/sender.h"
#include "agent/thread_area.h"
#include "agent/tsc.h"

namespace tailor::agent {

class Agent {
 public:
  Agent(std::size_t queue_bytes, std::uint32_t log_records)
      : queue_(queue_bytes), arenas_(log_records), sender_(queue_, arenas_), background_(sender_, waker_) {}

  // Memory, random numbers, arenas. 0 or a negative errno; an agent that failed is of no use.
  int prepare() noexcept;

  // Encodes a message straight into the queue through f(FixedWire& body). `bound` is the most
  // bytes that can take. False: dropped and counted. Any thread; never waits.
  template <typename F>
  bool post(MessageHead head, std::size_t bound, F f) noexcept;

  // A message whose body is `bytes`, serialised by the engine, followed by fields that f(FixedWire&, tsc)
  // adds (of a field that occurs twice the last one counts).
  template <typename F>
  bool post_serialised(MessageHead head, std::span<const char> bytes, F f) noexcept;

  std::size_t max_message_bytes() const { return queue_.max_message_bytes() - kFixedBound; }

  std::uint64_t tag_key() const { return tag_key_; }
  const std::array<std::uint8_t, 16>& instance() const { return instance_; }
  ArenaSet& arenas() { return arenas_; }
  Sender& sender() { return sender_; }
  // With the thread of our own, or (`threadless`) to be pumped by the host. False: no thread or memory to be
  // had.
  bool start_sending(const Identity& identity, bool threadless) noexcept;
  void stop_sending(std::uint32_t timeout_ms) noexcept;
  bool threadless() const { return threadless_; }
  // Without a thread: see tailor_agent_pump. Any thread, one at a time.
  int pump() noexcept;
  // Waits for room in the queue, too. True: the daemon has processed what was queued before.
  bool barrier(std::uint32_t timeout_ms) noexcept;
  PlanSlots& plans() { return plans_; }
  Components& components() { return components_; }
  RegionKinds& region_kinds() { return region_kinds_; }
  std::uint64_t next_code() { return next_code_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // The engine asks which of its executions have tags, so some of them may have none.
  void note_asks_for_tags() noexcept {
    if (!asks_for_tags_.load(std::memory_order_relaxed))
      asks_for_tags_.store(true, std::memory_order_relaxed);
  }
  // A new handle; it says whether the execution has tags.
  std::uint64_t next_execution() noexcept;
  static bool has_tags(std::uint64_t execution) { return (execution & kUntagged) == 0; }
  // The handle of an execution that works for another one, its leader.
  static std::uint64_t with_leader(std::uint64_t execution) { return execution | kLed; }
  // The first 8 bytes of the identity.
  std::uint64_t identity_number(std::uint64_t execution) const noexcept;
  // What the slot of a thread says that works for it: a leader is drawn, or not, with all that work for it,
  // and the daemon alone knows it.
  std::uint64_t draw_number(std::uint64_t execution) const noexcept {
    return execution == 0 || (execution & kLed) != 0 ? 0 : identity_number(execution);
  }
  // enum tailor_tag_strategy, as given to tailor_agent_start.
  std::uint32_t tag_strategy() const { return tag_strategy_; }

  // Something tells samples the operators of plans: a tag was made, or code was loaded.
  void note_owners() noexcept {
    if (!has_owners_.load(std::memory_order_relaxed)) has_owners_.store(true, std::memory_order_relaxed);
  }
  // An execution of a plan that shall have tags began.
  void note_plan_runs() noexcept {
    if (!plan_runs_.load(std::memory_order_relaxed)) plan_runs_.store(true, std::memory_order_relaxed);
  }
  bool lacks_owners() const noexcept {
    return plan_runs_.load(std::memory_order_relaxed) && !has_owners_.load(std::memory_order_relaxed);
  }

  void count_dropped() noexcept {
    std::atomic_ref(arenas_.header()->messages_dropped).fetch_add(1, std::memory_order_relaxed);
  }

  // Around a fork that the agent survives: nobody pumps meanwhile. False: somebody does not stop to.
  bool hold_pump() noexcept;
  void release_pump() noexcept { pumping_.store(false, std::memory_order_release); }

  // In a forked child: nothing of the parent's agent may be reached from here any more.
  void let_go_after_fork() noexcept;
  // In a forked child that goes on, whose only thread has `mine` (or none): an instance, arenas and a
  // connection of its own. False: not possible, and the agent is of no use here.
  bool continue_after_fork(const ThreadArea* mine) noexcept;

 private:
  static constexpr std::uint64_t kUntagged = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kLed = std::uint64_t{1} << 61;

  // Reserves room for `bound` bytes, has write(FixedWire&, tsc) fill them, and publishes the message.
  template <typename F>
  bool enqueue(MessageHead head, std::size_t bound, F write) noexcept;

  static MessageQueue::Urgency urgency_of(MessageKind kind);
  // Counted before space is reserved (and taken back if there is none): then a message that its caller knows
  // to be queued has no more messages before it in the queue than were counted.
  std::atomic_ref<std::uint64_t> queued() const { return std::atomic_ref(arenas_.header()->messages_queued); }

  struct Pumped {
    Sender::State state;
    int socket;  // -1: none
  };
  // Nothing if another thread is pumping.
  std::optional<Pumped> pump_once() noexcept;
  // While `done` does not hold: pumps, and waits for the socket, until the deadline.
  template <typename Done>
  void pump_until(std::int64_t deadline_ms, Done done) noexcept;

  MessageQueue queue_;
  ArenaSet arenas_;
  Waker waker_;
  Sender sender_;
  Background background_;
  bool threadless_ = false;
  std::uint32_t tag_strategy_ = 0;
  std::atomic<bool> pumping_{false};
  PlanSlots plans_;
  Components components_;
  RegionKinds region_kinds_;
  std::uint64_t tag_key_ = 0;
  std::array<std::uint8_t, 16> instance_{};
  std::atomic<bool> has_owners_{false}, plan_runs_{false}, asks_for_tags_{false};
  std::atomic<std::uint64_t> next_code_{0};
  std::atomic<std::uint64_t> next_execution_{0};
  std::atomic<std::uint32_t> next_barrier_{0};
};

template <typename F>
bool Agent::enqueue(MessageHead head, std::size_t bound, F write) noexcept {
  head.tsc = tsc();
  queued().fetch_add(1);
  if (auto reservation = queue_.reserve(bound, urgency_of(head.kind))) {
    FixedWire wire{FixedMemory(reservation->space())};
    write(wire, head.tsc);
    if (wire.memory().complete()) {
      queue_.commit(*reservation, head, wire.size());
      waker_.wake();
      return true;
    }
    queue_.abandon(*reservation);
  }
  queued().fetch_sub(1);
  count_dropped();
  return false;
}

template <typename F>
bool Agent::post(MessageHead head, std::size_t bound, F f) noexcept {
  return enqueue(head, bound,
                 [&](FixedWire& wire, std::uint64_t tsc) { encode_message(wire, head.kind, tsc, f); });
}

template <typename F>
bool Agent::post_serialised(MessageHead head, std::span<const char> bytes, F f) noexcept {
  return enqueue(head, bytes.size() + kFixedBound, [&](FixedWire& wire, std::uint64_t tsc) {
    char memory[kFixedBound / 2];
    FixedWire tail{FixedMemory(memory)};
    f(tail, tsc);
    wire.number(1, tsc);
    wire.length(static_cast<std::uint32_t>(head.kind), bytes.size() + tail.size());
    wire.raw({bytes.data(), bytes.size()});
    wire.raw({tail.bytes().data(), tail.size()});
  });
}

// Says that a component has this name. False: dropped and counted. Any thread.
bool post_component(Agent& agent, std::uint32_t id, std::string_view name) noexcept;

// Tells the daemon what was noticed, if it was. Any thread.
void post_notice(Agent& agent, Notice kind) noexcept;

// The running agent, or nullptr: then every call does nothing.
Agent* current() noexcept;

}  // namespace tailor::agent
