#include "compiler/weft/exec/worker_pool.h"

#include <fmt/format.h>
#include <tailor/tag_scope.h>

#include "compiler/weft/exec/components.h"

namespace tailor::weft {

WorkerPool::WorkerPool(unsigned workers, std::uint32_t tag_strategy) : tag_strategy_(tag_strategy) {
  for (unsigned worker = 1; worker < workers; ++worker)
    threads_.emplace_back([this, worker] { work(worker); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void(unsigned)>& job) {
  WorkScope scheduling(EngineWork::kSchedule);
  {
    std::lock_guard lock(mutex_);
    job_ = &job;
    ++round_;
    running_ = static_cast<unsigned>(threads_.size());
  }
  wake_.notify_all();
  job(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  job_ = nullptr;
}

void WorkerPool::work(unsigned worker) {
  TagScope none(tag_strategy_, TAILOR_TAG_NONE);
  tailor_thread_register(fmt::format("weft worker {}", worker).c_str());
  WorkScope scheduling(EngineWork::kSchedule);
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const std::function<void(unsigned)>& job = *job_;
    lock.unlock();
    job(worker);
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace tailor::weft
