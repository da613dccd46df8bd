#include "daemon/serve/workers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

#include "proto/base/errors.h"

namespace tailor::serve {

Workers::Workers(std::size_t threads, std::size_t waiting) : most_waiting_(waiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

Workers::~Workers() {
  end();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::end() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& job : running_) job->stop->cancel();
    for (const auto& job : waiting_) job->stop->cancel();
  }
  arrived_.notify_all();
}

Result<std::string> Workers::run(const std::shared_ptr<Stop>& stop, Work work,
                                 const std::function<bool()>& gone) {
  constexpr std::chrono::milliseconds kAsk{100};
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->stop = stop;
  if (Status taken = enqueue(job); !taken) return taken.error();
  std::unique_lock lock(job->mutex);
  while (!job->answer) {
    job->done.wait_for(lock, kAsk);
    if (job->answer) break;
    if (!stop->stopped() && gone && gone()) stop->cancel();
    if (stop->stopped()) return stop->error();
  }
  return std::move(*job->answer);
}

Status Workers::start(std::shared_ptr<Stop> stop, Work work, Done done) {
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->stop = std::move(stop);
  job->give = std::move(done);
  return enqueue(std::move(job));
}

Status Workers::enqueue(std::shared_ptr<Job> job) {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return unavailable("the daemon is stopping");
    if (waiting_.size() >= most_waiting_)
      return exhausted("too many requests wait for an answer; ask again in a moment");
    waiting_.push_back(std::move(job));
  }
  arrived_.notify_one();
  return Ok{};
}

// Work that throws, as for an answer that there is no memory for, ends that request and nothing else.
Result<std::string> Workers::answer_of(const Job& job) {
  try {
    return job.stop->stopped() ? Result<std::string>(job.stop->error()) : job.work(*job.stop);
  } catch (const std::bad_alloc&) {
    return exhausted("there is not enough memory for this answer; ask for less");
  } catch (const std::exception& problem) {
    return internal(std::string("the request failed: ") + problem.what());
  }
}

// The recording threads go first: what they are late for is lost, and an answer is only late.
void Workers::loop() {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
      running_.push_back(job);
    }
    Result<std::string> answer = answer_of(*job);
    {
      std::lock_guard lock(mutex_);
      std::erase(running_, job);
    }
    if (job->give) {
      job->give(std::move(answer));
      continue;
    }
    {
      std::lock_guard lock(job->mutex);
      job->answer = std::move(answer);
    }
    job->done.notify_all();
  }
}

}  // namespace tailor::serve
