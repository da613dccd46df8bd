// How engine threads wake the background thread. A futex word, and no descriptor: a host that closes
// descriptors it does not own, and gets their numbers again for its own files, must never find our bytes in
// them.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace tailor::agent {

// Milliseconds of CLOCK_MONOTONIC.
inline std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Waits while the word is `seen`, at most so long. May return earlier.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ms) {
  timespec wait{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &wait, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// A word that others wait for.
inline void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word = value;
  futex_wake_all(word);
}

// Waits until done(word) holds, at most so long. Returns whether it does.
template <typename Done>
bool await_futex(std::atomic<std::uint32_t>& word, std::uint32_t timeout_ms, Done done) {
  std::int64_t deadline = now_ms() + timeout_ms;
  while (true) {
    std::uint32_t seen = word.load();
    if (done(seen)) return true;
    std::int64_t left = deadline - now_ms();
    if (left <= 0) return false;
    futex_wait(word, seen, left);
  }
}

class Waker {
 public:
  // Any thread, after what it did became visible: wakes the sleeper if it sleeps.
  void wake() noexcept {
    if (sleeping_.load() != 0 && sleeping_.exchange(0) != 0) futex_wake_all(sleeping_);
  }
  // The sleeper: sleeps unless ready() holds, until it is woken or the time has passed. What became visible
  // before a wake() is seen by ready(), or ends the sleep.
  template <typename Ready>
  void sleep(std::int64_t timeout_ms, Ready ready) noexcept {
    sleeping_.store(1);
    if (!ready()) futex_wait(sleeping_, 1, timeout_ms);
    sleeping_.store(0);
  }

 private:
  std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace tailor::agent
