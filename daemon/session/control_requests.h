// Work that other threads ask the control thread to do.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tailor::session {

class ControlRequests {
 public:
  // `wake` ends the control thread's sleep. Any thread calls it.
  explicit ControlRequests(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Any thread but the control thread. Waits until `work` was done there.
  void run(std::function<void()> work) {
    std::promise<void> done;
    add({std::move(work), [&done] { done.set_value(); }});
    done.get_future().wait();
  }
  // Any thread, without waiting: the control thread is to make a turn, which does all that was asked before.
  void ask_for_turn() {
    {
      std::lock_guard lock(mutex_);
      if (turn_since_) return;  // the thread that asked first wakes it
      turn_since_ = Clock::now();
    }
    wake_();
  }
  // For how long a turn that was asked for has not been made; 0: none is awaited.
  std::chrono::nanoseconds awaited() const {
    std::lock_guard lock(mutex_);
    const auto first = doing_since_ ? doing_since_ : turn_since_;
    return first ? Clock::now() - *first : Clock::duration(0);
  }
  // Any thread. Does not wait.
  void post(std::function<void()> work) { add({std::move(work), {}}); }

  // Control thread. Does everything that was asked so far. Calls `finished` once, if there was anything,
  // before those who wait go on.
  void do_all(const std::function<void()>& finished) {
    std::vector<Request> requests;
    bool is_asked = false;
    {
      std::lock_guard lock(mutex_);
      requests.swap(requests_);
      // A thread that asks from now on is told what is known then.
      doing_since_ = std::exchange(turn_since_, std::nullopt);
      is_asked = doing_since_.has_value();
    }
    if (requests.empty() && !is_asked) return;
    for (Request& each : requests) each.work();
    finished();
    if (is_asked) {
      std::lock_guard lock(mutex_);
      doing_since_.reset();
    }
    for (Request& each : requests) {
      if (each.done) each.done();
    }
  }

  // Any thread: the control thread is to end.
  void end() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_();
  }
  bool ending() const {
    std::lock_guard lock(mutex_);
    return ending_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    std::function<void()> work, done;
  };
  void add(Request request) {
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    wake_();
  }

  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  // When a turn was asked for first: the next one, and the one that is being made.
  std::optional<Clock::time_point> turn_since_, doing_since_;
  bool ending_ = false;
};

}  // namespace tailor::session
