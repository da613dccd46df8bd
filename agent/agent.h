// The agent of this process: its parts, and how engine threads reach them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/components.h"
#include "agent/encode.h"
#include "agent/message_queue.h"
#include "agent/plan_slots.h"
#include "agent/sender.h"
#include "agent/thread_area.h"
#include "agent/tsc.h"

namespace tailor::agent {

class Agent {
 public:
  Agent(std::size_t queue_bytes, std::uint32_t log_records)
      : queue_(queue_bytes), arenas_(log_records), sender_(queue_, arenas_) {}

  // Memory, random numbers, arenas. 0 or a negative errno; an agent that failed is of no use.
  int Prepare() noexcept;

  // Encodes a message straight into the queue through f(Encoder&, Encoder::Writer& body). `bound` is the most
  // bytes that can take. False: dropped and counted. Any thread; never waits.
  template <typename F>
  bool Post(MessageHead head, std::size_t bound, F f) noexcept;

  // A message whose body is `bytes`, serialised by the engine, followed by fields that f(Writer&) adds (of a
  // field that occurs twice the last one counts).
  template <typename F>
  bool PostSerialised(MessageHead head, std::span<const char> bytes, F f) noexcept;

  std::size_t MaxMessageBytes() const { return queue_.MaxMessageBytes() - kFixedBound; }

  std::uint64_t tag_key() const { return tag_key_; }
  const std::array<std::uint8_t, 16>& session() const { return session_; }
  ArenaSet& arenas() { return arenas_; }
  Sender& sender() { return sender_; }
  PlanSlots& plans() { return plans_; }
  Components& components() { return components_; }
  std::uint64_t NextCode() { return next_code_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint64_t NextExecution() { return next_execution_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint32_t NextRegionKind() { return next_region_kind_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint32_t NextBarrier() { return next_barrier_.fetch_add(1, std::memory_order_relaxed) + 1; }

  void CountDropped() noexcept {
    std::atomic_ref(arenas_.header()->messages_dropped).fetch_add(1, std::memory_order_relaxed);
  }

  // In a forked child: nothing of the parent's agent may be reached from here any more.
  void LetGoAfterFork() noexcept;

 private:
  static MessageQueue::Urgency UrgencyOf(MessageKind kind);
  // Counted before space is reserved (and taken back if there is none): then a message that its caller knows
  // to be queued has no more messages before it in the queue than were counted.
  std::atomic_ref<std::uint64_t> Queued() const { return std::atomic_ref(arenas_.header()->messages_queued); }

  MessageQueue queue_;
  ArenaSet arenas_;
  Sender sender_;
  PlanSlots plans_;
  Components components_;
  std::uint64_t tag_key_ = 0;
  std::array<std::uint8_t, 16> session_{};
  std::atomic<std::uint64_t> next_code_{0};
  std::atomic<std::uint64_t> next_execution_{0};
  std::atomic<std::uint32_t> next_region_kind_{0};
  std::atomic<std::uint32_t> next_barrier_{0};
};

template <typename F>
bool Agent::Post(MessageHead head, std::size_t bound, F f) noexcept {
  head.tsc = Tsc();
  Queued().fetch_add(1);
  auto reservation = queue_.Reserve(bound, UrgencyOf(head.kind));
  if (reservation) {
    try {
      Encoder encoder(reservation->space());
      EncodeMessage(encoder, head.kind, head.tsc, [&](Encoder::Writer& body) { f(encoder, body); });
      queue_.Commit(*reservation, head, encoder.size());
      sender_.Wake();
      return true;
    } catch (...) {
      queue_.Abandon(*reservation);
    }
  }
  Queued().fetch_sub(1);
  CountDropped();
  return false;
}

template <typename F>
bool Agent::PostSerialised(MessageHead head, std::span<const char> bytes, F f) noexcept {
  head.tsc = Tsc();
  Queued().fetch_add(1);
  auto reservation = queue_.Reserve(bytes.size() + kFixedBound, UrgencyOf(head.kind));
  if (reservation) {
    try {
      char memory[kFixedBound / 2];
      Encoder::Buffer tail(memory, sizeof(memory));
      Encoder::Writer writer(tail);
      f(writer, head.tsc);
      Encoder encoder(reservation->space());
      encoder.root().add_uint64(1, head.tsc);
      encoder.root().add_bytes_vectored(static_cast<std::uint32_t>(head.kind),
                                        protozero::data_view(bytes.data(), bytes.size()),
                                        protozero::data_view(tail.data(), tail.size()));
      queue_.Commit(*reservation, head, encoder.size());
      sender_.Wake();
      return true;
    } catch (...) {
      queue_.Abandon(*reservation);
    }
  }
  Queued().fetch_sub(1);
  CountDropped();
  return false;
}

// Says that a component has this name. Any thread.
void PostComponent(Agent& agent, std::uint32_t id, std::string_view name) noexcept;

// The running agent, or nullptr: then every call does nothing.
Agent* Current() noexcept;

}  // namespace tailor::agent
