// Work on files that stacks need. To read and index one may take long, or never end: a file of FUSE waits for
// its server. So it runs elsewhere, on a thread of the user whose process shows the file. What it makes
// is looked for again later.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "proto/base/ids.h"

namespace tailor::unwind {

// The user of a process that is gone.
inline constexpr std::uint32_t kNoUser = UINT32_MAX;

// How far a piece of work is. Any threads.
class Progress {
 public:
  explicit Progress(std::uint32_t user) : user_(user) {}
  std::uint32_t user() const { return user_; }
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  // Until it is done, or so long. Gives whether it is done.
  bool wait(TimeNs most) const;
  void finish();

 private:
  const std::uint32_t user_;
  std::atomic<bool> done_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
};

// What is being made. It is the worker's until it is done.
template <typename Made>
struct Awaited : Progress {
  using Progress::Progress;
  bool refused = false;  // its user had too much by then; nothing was made
  Made value{};
};

// What each user may ask for.
struct WorkLimits {
  std::size_t waiting = 64;                    // pieces of work
  std::size_t bytes = std::size_t{256} << 20;  // of what is kept for a user; the last piece may exceed it
  TimeNs time = 2'000'000'000;                 // on a CPU, in kWorkWindow
};
inline constexpr TimeNs kWorkWindow = 10'000'000'000;

// One thread, but for the work itself.
class FileWork {
 public:
  using Work = std::function<void()>;
  // Runs a piece of work of a user, now or later, here or elsewhere; those of a user one after the other.
  using Run = std::function<void(std::uint32_t user, Work work)>;

  // Without `run` everything is done at once.
  explicit FileWork(Run run = {}, WorkLimits limits = {});

  // Before the first step of a stack.
  void begin_walk(TimeNs now);
  // It ends early, for want of what is being made there. NULL: nobody makes it now.
  void lack(std::shared_ptr<const Progress> what);
  TimeNs now() const { return now_; }
  bool lacks() const { return lacks_; }
  // The first thing that it lacks.
  const std::shared_ptr<const Progress>& missing() const { return missing_; }

  // What `make` gives, which has bytes(), the memory that is kept for it until release(). NULL: the user has
  // asked for too much. `make` refers to nothing that its caller destroys.
  template <typename Made, typename Make>
  std::shared_ptr<Awaited<Made>> begin(std::uint32_t user, Make make) {
    const std::shared_ptr<Share> share = may_begin(user);
    if (share == nullptr) return nullptr;
    auto made = std::make_shared<Awaited<Made>>(user);
    run_(user, [this_share = share, limit = limits_.bytes, made, make = std::move(make)] {
      const TimeNs began = thread_time();
      made->refused = this_share->bytes >= limit;
      if (!made->refused) made->value = make();
      this_share->bytes += made->value.bytes();
      this_share->spent += thread_time() - began;
      --this_share->waiting;
      made->finish();
    });
    return made;
  }
  void release(std::uint32_t user, std::size_t bytes);
  // Lets go of something where that may take long: to close a file does.
  void drop(std::uint32_t user, std::shared_ptr<void> what);
  // Whether so much is kept for the user that nothing more is made.
  bool is_full(std::uint32_t user) const;

 private:
  struct Share {
    std::atomic<std::size_t> waiting = 0, bytes = 0;
    std::atomic<TimeNs> spent = 0;
    TimeNs until = kTimeMin;  // then it counts from 0 again
  };
  static TimeNs thread_time();
  std::shared_ptr<Share> may_begin(std::uint32_t user);

  static constexpr std::size_t kMostUsers = 1024;
  const Run run_;
  const WorkLimits limits_;
  std::map<std::uint32_t, std::shared_ptr<Share>> shares_;
  TimeNs now_ = kTimeMin;
  bool lacks_ = false;
  std::shared_ptr<const Progress> missing_;
};

// On a thread of each user.
FileWork::Run on_user_threads();

}  // namespace tailor::unwind
