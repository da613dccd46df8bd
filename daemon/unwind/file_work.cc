#include "daemon/unwind/file_work.h"

#include <time.h>

#include <chrono>

#include "daemon/os/user_threads.h"

namespace tailor::unwind {
namespace {

// Users whose files are read at the same time.
constexpr std::size_t kMostThreads = 8;

}  // namespace

bool Progress::wait(TimeNs most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(most), [this] { return is_done(); });
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  done_.store(true, std::memory_order_release);
  changed_.notify_all();
}

FileWork::FileWork(Run run, WorkLimits limits)
    : run_(run ? std::move(run) : [](std::uint32_t, const Work& work) { work(); }), limits_(limits) {}

void FileWork::begin_walk(TimeNs now) {
  now_ = now;
  lacks_ = false;
  missing_.reset();
}

void FileWork::lack(std::shared_ptr<const Progress> what) {
  if (!lacks_) missing_ = std::move(what);
  lacks_ = true;
}

void FileWork::release(std::uint32_t user, std::size_t bytes) {
  const auto found = shares_.find(user);
  if (found != shares_.end()) found->second->bytes -= bytes;
}

void FileWork::drop(std::uint32_t user, std::shared_ptr<void> what) {
  run_(user, [gone = std::move(what)] {});
}

bool FileWork::is_full(std::uint32_t user) const {
  const auto found = shares_.find(user);
  return found != shares_.end() && found->second->bytes >= limits_.bytes;
}

TimeNs FileWork::thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<TimeNs>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// NULL: not now. Else one piece more waits.
std::shared_ptr<FileWork::Share> FileWork::may_begin(std::uint32_t user) {
  if (shares_.size() >= kMostUsers && !shares_.contains(user)) {
    std::erase_if(shares_, [](const auto& each) { return each.second->waiting + each.second->bytes == 0; });
    if (shares_.size() >= kMostUsers) return nullptr;
  }
  std::shared_ptr<Share>& share = shares_[user];
  if (share == nullptr) share = std::make_shared<Share>();
  if (now_ >= share->until) {
    share->until = now_ + kWorkWindow;
    share->spent = 0;
  }
  if (share->waiting >= limits_.waiting || share->bytes >= limits_.bytes || share->spent >= limits_.time)
    return nullptr;
  ++share->waiting;
  return share;
}

FileWork::Run on_user_threads() {
  return [threads = std::make_shared<os::UserThreads>(kMostThreads)](
             std::uint32_t user, FileWork::Work work) { threads->add(user, std::move(work)); };
}

}  // namespace tailor::unwind
