// Work that other threads ask the control thread to do.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
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
  // Any thread, without waiting: the control thread is to make a turn.
  void ask_for_turn() { (void)next_turn(); }
  // Any thread but the control thread. Asks for a turn, which does all that was asked before. Waits `most`
  // for it. Whether it was made.
  bool turn_within(std::chrono::nanoseconds most) {
    return next_turn().wait_for(most) == std::future_status::ready;
  }
  // For how long a turn that was asked for has not been made; 0: none is awaited.
  std::chrono::nanoseconds awaited() const {
    std::lock_guard lock(mutex_);
    const Turn* const first = doing_ ? doing_.get() : turn_.get();
    return first == nullptr ? Clock::duration(0) : Clock::now() - first->since;
  }
  // Any thread. Does not wait.
  void post(std::function<void()> work) { add({std::move(work), {}}); }

  // Control thread. Does everything that was asked so far. Calls `finished` once, if there was anything,
  // before those who wait go on.
  void do_all(const std::function<void()>& finished) {
    std::vector<Request> requests;
    std::shared_ptr<Turn> turn;
    {
      std::lock_guard lock(mutex_);
      requests.swap(requests_);
      // A thread that asks from now on is told what is known then.
      turn = doing_ = std::exchange(turn_, nullptr);
    }
    if (requests.empty() && !turn) return;
    for (Request& each : requests) each.work();
    finished();
    if (turn) {
      std::lock_guard lock(mutex_);
      doing_.reset();
    }
    if (turn) turn->made.set_value();
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
  // One for all who ask for it.
  struct Turn {
    Clock::time_point since = Clock::now();
    std::promise<void> made;
    std::shared_future<void> future = made.get_future().share();
  };
  std::shared_future<void> next_turn() {
    std::shared_future<void> future;
    {
      std::lock_guard lock(mutex_);
      if (!turn_) turn_ = std::make_shared<Turn>();
      future = turn_->future;
    }
    wake_();
    return future;
  }
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
  std::shared_ptr<Turn> turn_, doing_;  // that somebody waits for: the next one, and this one
  bool ending_ = false;
};

}  // namespace tailor::session
