// Work that other threads ask the control thread to do.
#pragma once

#include <functional>
#include <future>
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
  // Any thread. Does not wait.
  void post(std::function<void()> work) { add({std::move(work), {}}); }

  // Control thread. Does everything that was asked so far. Calls `finished` once, if there was anything,
  // before those who wait go on.
  void do_all(const std::function<void()>& finished) {
    std::vector<Request> requests;
    {
      std::lock_guard lock(mutex_);
      requests.swap(requests_);
    }
    if (requests.empty()) return;
    for (Request& each : requests) each.work();
    finished();
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
  bool ending_ = false;
};

}  // namespace tailor::session
