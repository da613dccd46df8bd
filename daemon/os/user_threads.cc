#include "daemon/os/user_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tailor::os {

class UserThreads::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(std::size_t most) : most_(most) {}

  void add(std::uint32_t uid, Work work) {
    std::lock_guard lock(mutex_);
    users_[uid].waiting.push_back(std::move(work));
    if (idle_ > 0) {
      arrived_.notify_one();
    } else if (threads_ < most_) {
      start_thread();
    }
  }

  void end() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    arrived_.notify_all();
  }

 private:
  struct User {
    std::deque<Work> waiting;
    bool is_served = false;  // a thread works for the user
  };
  using Users = std::map<std::uint32_t, User>;

  // Where no thread can be had, those that run do it later, or the next call starts one.
  void start_thread() {
    try {
      std::thread([self = shared_from_this()] { self->loop(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
    }
  }

  void loop() {
    ::pthread_setname_np(::pthread_self(), "tailor-user");
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = next();
      if (found != users_.end()) {
        serve(found, lock);
        continue;
      }
      // One thread stays: work comes all the time.
      if (ending_ || idle_ > 0) break;
      ++idle_;
      arrived_.wait(lock);
      --idle_;
    }
    --threads_;
  }

  // The next user in turn whose work waits and who has no thread.
  Users::iterator next() {
    const auto waits = [](const auto& each) {
      return !each.second.is_served && !each.second.waiting.empty();
    };
    auto at = users_.upper_bound(last_);
    while (at != users_.end() && !waits(*at)) ++at;
    if (at != users_.end()) return at;
    at = users_.begin();
    while (at != users_.end() && !waits(*at)) ++at;
    return at;
  }

  void serve(Users::iterator user, std::unique_lock<std::mutex>& lock) {
    Work work = std::move(user->second.waiting.front());
    user->second.waiting.pop_front();
    user->second.is_served = true;
    last_ = user->first;
    if (idle_ == 0 && threads_ < most_ && next() != users_.end()) start_thread();
    lock.unlock();
    work();
    work = nullptr;  // what it holds may take long to go, too
    lock.lock();
    user->second.is_served = false;
    if (user->second.waiting.empty()) users_.erase(user);
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  Users users_;             // who has work, or is served
  std::uint32_t last_ = 0;  // who was served last
  std::size_t threads_ = 0, idle_ = 0;
  bool ending_ = false;
};

UserThreads::UserThreads(std::size_t most) : state_(std::make_shared<State>(most)) {}

UserThreads::~UserThreads() {
  state_->end();
}

void UserThreads::add(std::uint32_t uid, Work work) {
  state_->add(uid, std::move(work));
}

}  // namespace tailor::os
