// The background thread: pumps the sender, and sleeps while there is nothing to do.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/sender.h"
#include "agent/waker.h"

namespace tailor::agent {

// How often the socket is looked at while nothing is expected from it: the daemon may have gone. What the
// host says is sent at once, and a daemon that has gone is noticed then; so a host that says nothing can
// wait, and each look has its price, for the host, and for the daemon where the host is sampled.
constexpr std::int64_t listen_ms(std::int64_t quiet_ms) {
  constexpr std::int64_t kOftenMs = 250, kSeldomMs = 5000, kQuietAfterMs = 3000;
  return quiet_ms < kQuietAfterMs ? kOftenMs : kSeldomMs;
}

class Background {
 public:
  Background(Sender& sender, Waker& waker) : sender_(sender), waker_(waker) {}

  // Starts a thread, with all signals blocked. It first waits for the one of an earlier start, should that
  // still run. False: no thread or memory to be had.
  bool start(const Identity& identity) noexcept;
  // Has it say what is queued, and goodbye, until `timeout_ms` have passed; waits for its end no longer than
  // that. A thread that was not scheduled in time ends by itself, soon.
  void stop(std::uint32_t timeout_ms) noexcept;

  // No thread is left.
  bool ended() const noexcept { return !run_ || run_->ended.load() != 0; }

  // In a forked child, where the thread does not exist.
  void forget_after_fork() noexcept { run_ = nullptr; }

 private:
  // One start, until its thread has ended.
  struct Run {
    Background* owner = nullptr;
    Identity identity;
    pthread_t thread{};
    Run* before = nullptr;  // a thread that may still be ending
    std::atomic<std::int64_t> deadline_ms{0};
    std::atomic<bool> stop{false};
    std::atomic<std::uint32_t> ended{0};  // a futex word
  };
  static void* thread_main(void* run) noexcept;
  void work(Run& run) noexcept;
  void wait(const Run& run, Sender::State state) noexcept;
  std::int64_t quiet_ms() noexcept;

  Sender& sender_;
  Waker& waker_;
  Run* run_ = nullptr;  // of the thread that starts and stops
  // The thread's own.
  bool was_full_ = false;
  std::int64_t expecting_since_ms_ = 0;
  std::uint64_t said_ = 0;
  std::int64_t quiet_since_ms_ = 0;
};

}  // namespace tailor::agent
