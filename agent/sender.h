// The background thread: takes messages from the queue, keeps what is live, and talks to the daemon.
//
// It alone touches the live set and the connection. Engine threads reach it through the queue, a flag that
// says whether it sleeps, and an eventfd.
#pragma once

#include <pthread.h>
#include <tailor/thread_area.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "agent/connection.h"
#include "agent/live_set.h"
#include "agent/message_queue.h"
#include "agent/thread_area.h"

namespace tailor::agent {

// What the agent tells about its process in every Hello.
struct Identity {
  std::string socket_path;
  std::string engine_name;
  std::string engine_version;
  std::uint32_t tag_strategy = 0;
  std::uint64_t tag_key = 0;
  std::int64_t tag_slot_offset = 0;
  std::array<std::uint8_t, 16> session{};
};

class Sender {
 public:
  Sender(MessageQueue& queue, ArenaSet& arenas) : queue_(queue), arenas_(arenas) {}
  ~Sender();

  // Starts the thread, with all signals blocked. False: no descriptor or thread to be had.
  bool Start(const Identity& identity) noexcept;
  // Sends what is queued, says goodbye and ends, but waits no longer than this. False if it still runs then;
  // it will end by itself.
  bool Stop(std::uint32_t timeout_ms) noexcept;

  // Engine threads, after a commit: wakes the thread if it sleeps.
  void Wake() noexcept {
    if (sleeping_.load() && sleeping_.exchange(false)) Ring();
  }

  bool accepted() const { return accepted_.load(std::memory_order_relaxed); }
  // Waits until barrier `sequence` was acknowledged.
  bool AwaitBarrier(std::uint32_t sequence, std::uint32_t timeout_ms) noexcept;

  struct Counters {
    std::atomic<std::uint64_t> messages_sent{0}, bytes_sent{0}, connects{0}, disconnects{0};
  };
  const Counters& counters() const { return counters_; }

  // In a forked child, where the thread does not exist: closes the descriptors.
  void CloseAfterFork() noexcept;

 private:
  static void* ThreadMain(void* self) noexcept;
  void Run() noexcept;
  void Ring() noexcept;
  void Sleep() noexcept;

  void DrainQueue() noexcept;
  void Deliver(const MessageView& message) noexcept;
  void CountDropped() noexcept;
  void Listen() noexcept;

  void TryConnect() noexcept;
  void Disconnect() noexcept;
  void BringUpToDate() noexcept;
  Connection::Sent SendHello() noexcept;
  Connection::Sent SendNewArenas() noexcept;
  Connection::Sent Send(std::uint64_t tsc, std::span<const char> bytes, int attached) noexcept;
  void SayGoodbye() noexcept;

  std::uint64_t& Shared(std::uint64_t tailor_arena_header::* counter) { return arenas_.header()->*counter; }

  MessageQueue& queue_;
  ArenaSet& arenas_;
  Identity identity_;
  pthread_t thread_{};
  int event_fd_ = -1;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> give_up_{false};
  std::atomic<bool> accepted_{false};
  std::atomic<std::uint32_t> acknowledged_{0};  // last barrier; a futex word
  std::atomic<std::uint32_t> finished_{0};      // 1 once the thread is through; a futex word

  // The thread's own.
  Connection connection_;
  LiveSet live_;
  std::uint64_t settled_ = 0;
  std::uint32_t arenas_sent_ = 0;
  std::int64_t next_attempt_ms_ = 0;
  std::int64_t backoff_ms_ = 0;
  Counters counters_;
};

}  // namespace tailor::agent
