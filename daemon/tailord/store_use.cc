#include "daemon/tailord/store_use.h"

#include <algorithm>
#include <utility>

namespace tailor::tailord {
namespace {

// After a reading the thread rests, for this number of times as long: many who ask do not keep a large
// catalogue busy.
constexpr int kRests = 20;

}  // namespace

StoreUse::StoreUse(const store::StoreWriter& store, std::chrono::milliseconds period)
    : store_(store), period_(period) {
  read();
  thread_ = std::thread([this] { loop(); });
}

StoreUse::~StoreUse() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

StoreUse::Reading StoreUse::ask() {
  Reading last;
  {
    std::lock_guard lock(mutex_);
    asked_ = true;
    last = last_;
  }
  changed_.notify_one();
  return last;
}

void StoreUse::loop() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, period_, [this] { return ending_ || asked_; });
    if (ending_) return;
    asked_ = false;
    lock.unlock();
    const Clock::time_point begun = Clock::now();
    read();
    // Much of it may be time in which the catalogue was in use.
    const Clock::duration rest = std::min<Clock::duration>(kRests * (Clock::now() - begun), period_);
    lock.lock();
    changed_.wait_for(lock, rest, [this] { return ending_; });
  }
}

void StoreUse::read() {
  Reading now;
  now.begun = Clock::now();
  const auto take = [&now](auto part, auto& to) {
    if (part) {
      to = std::move(*part);
    } else if (now.problem.empty()) {
      now.problem = part.error().message;
    }
  };
  take(store_.catalogue_uses(), now.users.uses);
  take(store_.catalogue_removed(), now.users.removed);
  take(store_.disk_uses(), now.users.disk);
  take(store_.cuts(), now.users.cuts);
  now.given_up = store_.given_up();
  std::lock_guard lock(mutex_);
  last_ = std::move(now);
}

}  // namespace tailor::tailord
