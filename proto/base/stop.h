// When to give work up: its deadline has passed, or nobody waits for it any longer.
#pragma once

#include <atomic>
#include <chrono>

#include "proto/base/result.h"

namespace tailor {

// Any thread may ask and cancel. Work asks between steps that are short.
class Stop {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Stop(Clock::time_point deadline = Clock::time_point::max()) : deadline_(deadline) {}

  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool stopped() const {
    return cancelled_.load(std::memory_order_relaxed) ||
           (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_);
  }
  Clock::time_point deadline() const { return deadline_; }
  // What to answer then.
  Error error() const {
    return unavailable(cancelled_.load(std::memory_order_relaxed)
                           ? "the request was cancelled"
                           : "the deadline of the request passed; ask for less, or give it more time");
  }

 private:
  std::atomic<bool> cancelled_{false};
  Clock::time_point deadline_;
};

}  // namespace tailor
