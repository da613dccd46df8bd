// Takes messages from the queue, keeps what is live, and talks to the daemon. It never waits: Pump does what
// can be done now. The background thread calls it again and again (background.h); without one the host does
// (tailor_agent_pump).
//
// One caller at a time touches the live set and the connection. Engine threads reach it through the queue.
#pragma once

#include <tailor/thread_area.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "agent/connection.h"
#include "agent/label_sets.h"
#include "agent/live_set.h"
#include "agent/message_queue.h"
#include "agent/thread_area.h"
#include "agent/waker.h"

namespace tailor::agent {

// What the agent tells about its process in every Hello.
struct Identity {
  std::string socket_path;
  std::string engine_name;
  std::string engine_version;
  std::uint32_t tag_strategy = 0;
  std::uint64_t tag_key = 0;
  std::int64_t tag_slot_offset = 0;
  std::array<std::uint8_t, 16> instance{};
};

class Sender {
 public:
  Sender(MessageQueue& queue, ArenaSet& arenas) : queue_(queue), arenas_(arenas) {}

  // Before the first pump() of a start. May throw std::bad_alloc.
  void begin(const Identity& identity);

  enum class State : std::uint8_t {
    kIdle,      // everything is said
    kMore,      // there is more to say at once
    kFull,      // the socket has no room
    kExpecting  // everything is said, and the daemon owes an answer
  };
  // Connects if it is time to, sends what is queued, hears what the daemon says. A bounded amount of work.
  State pump() noexcept;
  // Says goodbye, closes, and forgets what is live but for threads.
  void end() noexcept;

  bool queue_empty() noexcept { return !queue_.front(); }
  bool connected() const noexcept { return connection_.connected(); }
  int socket() const noexcept { return connection_.fd(); }
  std::uint64_t settled() const noexcept { return settled_; }
  // How long until the next attempt to connect.
  std::int64_t ms_to_next_attempt() const noexcept;

  // What the daemon wants: how many of a thousand executions are begun without tags.
  std::uint32_t untagged_permille() const { return untagged_permille_.load(std::memory_order_relaxed); }
  bool accepted() const { return accepted_.load(std::memory_order_relaxed); }
  bool acknowledged(std::uint32_t sequence) const noexcept {
    return is_acknowledged(acknowledged_.load(), sequence);
  }
  // Waits until barrier `sequence` was acknowledged, while another thread pumps.
  bool await_barrier(std::uint32_t sequence, std::uint32_t timeout_ms) noexcept;

  struct Counters {
    std::atomic<std::uint64_t> messages_sent{0}, bytes_sent{0}, connects{0}, disconnects{0}, connect_error{0};
  };
  const Counters& counters() const { return counters_; }

  // In a forked child, which must not use its parent's connection: closes the child's copy of it.
  void close_after_fork() noexcept;
  // In a forked child that goes on: what its parent said is live here, but for the parent's threads and
  // executions.
  void continue_after_fork(const std::array<std::uint8_t, 16>& instance) noexcept;

 private:
  static bool is_acknowledged(std::uint32_t word, std::uint32_t sequence) {
    return static_cast<std::int32_t>(word - sequence) >= 0;
  }

  bool drain_queue() noexcept;
  bool deliver(const MessageView& message) noexcept;
  void count_dropped() noexcept;
  // The first message was taken from the queue.
  void count_taken() noexcept;
  void listen() noexcept;

  void try_connect() noexcept;
  void disconnect() noexcept;
  bool bring_up_to_date() noexcept;
  Connection::Sent send_hello() noexcept;
  Connection::Sent send_new_arenas() noexcept;
  // What engine threads said.
  Connection::Sent send_said(const MessageHead& head, std::span<const char> bytes) noexcept;
  Connection::Sent send(std::uint64_t tsc, std::span<const char> bytes, int attached) noexcept;
  State after_full() noexcept;

  std::uint64_t& shared(std::uint64_t tailor_arena_header::* counter) { return arenas_.header()->*counter; }

  MessageQueue& queue_;
  ArenaSet& arenas_;
  Identity identity_;
  std::atomic<bool> accepted_{false};
  std::atomic<std::uint32_t> untagged_permille_{0};
  std::atomic<std::uint32_t> acknowledged_{0};  // last barrier; a futex word

  // Of the thread that pumps.
  Connection connection_;
  LiveSet live_;
  LabelSets label_sets_;
  // What a new connection must be told before news: the arenas, then what is live, in order.
  bool up_to_date_ = false;
  LiveSet::Order told_ = 0;  // everything live before this order was told
  std::uint64_t settled_ = 0;
  std::uint32_t arenas_sent_ = 0;
  std::uint32_t barrier_sent_ = 0;
  std::int64_t next_attempt_ms_ = 0;
  std::int64_t backoff_ms_ = 0;
  std::int64_t full_since_ms_ = 0;  // 0: the last message went out
  Counters counters_;
};

}  // namespace tailor::agent
