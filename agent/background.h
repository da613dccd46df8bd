// The background thread: pumps the sender, and sleeps while there is nothing to do.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/sender.h"
#include "agent/waker.h"

namespace tailor::agent {

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

  Sender& sender_;
  Waker& waker_;
  Run* run_ = nullptr;  // of whoever starts and stops
  // The thread's own.
  bool was_full_ = false;
  std::int64_t expecting_since_ms_ = 0;
};

}  // namespace tailor::agent
