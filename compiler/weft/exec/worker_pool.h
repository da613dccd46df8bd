// The threads that one client's queries run on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tailor::weft {

// Owned and used by one thread, which is worker 0 of every job.
class WorkerPool {
 public:
  // `tag_strategy` is that of the engine (<tailor/agent.h>): between jobs no worker carries a tag, not even
  // what the registers held when its thread was made.
  explicit WorkerPool(unsigned workers, std::uint32_t tag_strategy = 0);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // Calls job(worker) on every worker and returns when all are done. `job` must not throw.
  void run(const std::function<void(unsigned)>& job);

 private:
  void work(unsigned worker);

  std::uint32_t tag_strategy_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(unsigned)>* job_ = nullptr;
  std::uint64_t round_ = 0;
  unsigned running_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tailor::weft
