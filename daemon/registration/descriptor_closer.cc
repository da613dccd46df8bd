#include "daemon/registration/descriptor_closer.h"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/registration/packet.h"

namespace tailor::registration {
namespace {

// Users whose descriptors are closed at the same time. More of them wait for their turn.
constexpr std::size_t kMostThreads = 16;

}  // namespace

class DescriptorCloser::State : public std::enable_shared_from_this<State> {
 public:
  struct Job {
    int fd = -1;
    bool is_connection = false;
  };

  explicit State(Close close) : close_(std::move(close)) {}

  void add(std::uint32_t uid, Job job) {
    std::lock_guard lock(mutex_);
    User& user = users_[uid];
    user.jobs.push_back(job);
    ++user.count(job);
    if (idle_ > 0) {
      arrived_.notify_one();
    } else if (threads_ < kMostThreads) {
      start_thread();
    }
  }

  Pending pending(std::uint32_t uid) const {
    std::lock_guard lock(mutex_);
    const auto found = users_.find(uid);
    return found == users_.end() ? Pending{} : found->second.pending;
  }

  void end() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    arrived_.notify_all();
  }

 private:
  struct User {
    std::deque<Job> jobs;
    Pending pending;         // with the one that is being closed
    bool is_served = false;  // a thread closes one of his

    std::size_t& count(const Job& job) {
      return job.is_connection ? pending.connections : pending.descriptors;
    }
  };

  // Where no thread can be had, those that run do it later, or the next call starts one.
  void start_thread() {
    try {
      std::thread([self = shared_from_this()] { self->loop(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
    }
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = next();
      if (found != users_.end()) {
        serve(found, lock);
        continue;
      }
      // One thread stays: agents come and go all the time.
      if (ending_ || idle_ > 0) break;
      ++idle_;
      arrived_.wait(lock);
      --idle_;
    }
    --threads_;
  }

  std::map<std::uint32_t, User>::iterator next() {
    auto at = users_.begin();
    while (at != users_.end() && (at->second.is_served || at->second.jobs.empty())) ++at;
    return at;
  }

  void serve(std::map<std::uint32_t, User>::iterator user, std::unique_lock<std::mutex>& lock) {
    const Job job = user->second.jobs.front();
    user->second.jobs.pop_front();
    user->second.is_served = true;
    if (idle_ == 0 && threads_ < kMostThreads && next() != users_.end()) start_thread();
    lock.unlock();
    if (job.is_connection) discard_unread(job.fd);
    close_(job.fd);
    lock.lock();
    user->second.is_served = false;
    --user->second.count(job);
    if (user->second.jobs.empty()) users_.erase(user);
  }

  const Close close_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint32_t, User> users_;  // who has something to be closed
  std::size_t threads_ = 0, idle_ = 0;
  bool ending_ = false;
};

DescriptorCloser::DescriptorCloser(Close close)
    : state_(std::make_shared<State>(close ? std::move(close) : [](int fd) { ::close(fd); })) {}

DescriptorCloser::~DescriptorCloser() {
  state_->end();
}

void DescriptorCloser::close(std::uint32_t uid, UniqueFd descriptor) {
  if (descriptor) state_->add(uid, {descriptor.release(), false});
}

void DescriptorCloser::close_connection(std::uint32_t uid, UniqueFd socket) {
  if (socket) state_->add(uid, {socket.release(), true});
}

DescriptorCloser::Pending DescriptorCloser::pending(std::uint32_t uid) const {
  return state_->pending(uid);
}

bool is_memory_file(int fd) {
  return ::fcntl(fd, F_GET_SEALS) >= 0;
}

}  // namespace tailor::registration
