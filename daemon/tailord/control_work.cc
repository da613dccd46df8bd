#include "daemon/tailord/control_work.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "proto/control/control_client.h"

namespace tailor::tailord {
namespace {

// Of askers that are gone, too: as many as may be connected.
constexpr std::size_t kMostWaiting = control::ControlServer::kMaxClients;

}  // namespace

ControlWork::ControlWork(Answer answer) : answer_(std::move(answer)), thread_([this] { loop(); }) {}

ControlWork::~ControlWork() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Status ControlWork::start(v1::ControlRequest request, const control::ControlServer::Promise& promise) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting)
      return exhausted(
          fmt::format("{} requests wait to be done already; ask again in a moment", kMostWaiting));
    auto late = promise(control::kLongestChange);
    if (!late) return late.error();
    waiting_.push_back({std::move(request), std::move(*late)});
  }
  changed_.notify_one();
  return Ok{};
}

void ControlWork::start_reload(std::function<void()> reload) {
  {
    std::lock_guard lock(mutex_);
    reload_ = std::move(reload);
  }
  changed_.notify_one();
}

void ControlWork::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || reload_ || !waiting_.empty(); });
    if (ending_) return;
    if (const auto reload = std::exchange(reload_, nullptr)) {
      lock.unlock();
      reload();
      lock.lock();
      continue;
    }
    const Job job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    // A client that resumes a process need not wait for it; a flush that nobody waits for is of no use.
    const bool is_of_use = !job.request.has_flush() || !job.late->stop()->stopped();
    if (is_of_use) job.late->give(answer_(job.request));
    lock.lock();
  }
}

}  // namespace tailor::tailord
