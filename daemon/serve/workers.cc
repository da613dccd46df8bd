#include "daemon/serve/workers.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

#include "proto/base/errors.h"

namespace tailor::serve {

Workers::Workers(std::size_t threads, std::size_t waiting)
    : running_shares_(threads), waiting_shares_(waiting) {
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
    for (const auto& [who, jobs] : waiting_) {
      for (const auto& job : jobs) job->stop->cancel();
    }
  }
  arrived_.notify_all();
}

Result<std::string> Workers::run(const Asker& asker, const std::shared_ptr<Stop>& stop, Work work,
                                 const std::function<bool()>& gone) {
  constexpr std::chrono::milliseconds kAsk{100};
  auto job = std::make_shared<Job>();
  job->asker = asker;
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

Status Workers::start(const Asker& asker, std::shared_ptr<Stop> stop, Work work, Done done) {
  auto job = std::make_shared<Job>();
  job->asker = asker;
  job->work = std::move(work);
  job->stop = std::move(stop);
  job->give = std::move(done);
  return enqueue(std::move(job));
}

Status Workers::enqueue(std::shared_ptr<Job> job) {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return unavailable("the daemon is stopping");
    if (!waiting_shares_.take(job->asker)) {
      return exhausted(fmt::format(
          "too many requests wait for an answer: of {} places one asker has {} at most, and all together but "
          "root and the daemon's user have {}; ask again in a moment",
          waiting_shares_.all(), waiting_shares_.of_one(), waiting_shares_.of_strangers()));
    }
    waiting_[job->asker.who].push_back(std::move(job));
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

// What is next in turn, if its asker may have a thread. Under the lock.
std::shared_ptr<Workers::Job> Workers::next() {
  const auto may = [this](const auto& each) { return running_shares_.fits(each.second.front()->asker); };
  auto found = std::find_if(waiting_.upper_bound(last_), waiting_.end(), may);
  if (found == waiting_.end()) found = std::find_if(waiting_.begin(), waiting_.end(), may);
  if (found == waiting_.end()) return nullptr;
  std::shared_ptr<Job> job = std::move(found->second.front());
  found->second.pop_front();
  last_ = found->first;
  if (found->second.empty()) waiting_.erase(found);
  waiting_shares_.give_back(job->asker);
  (void)running_shares_.take(job->asker);
  running_.push_back(job);
  return job;
}

// The recording threads go first: what they are late for is lost, and an answer is only late.
void Workers::loop() {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [&] { return (job = next()) != nullptr || (ending_ && waiting_.empty()); });
      if (job == nullptr) return;
    }
    Result<std::string> answer = answer_of(*job);
    {
      std::lock_guard lock(mutex_);
      std::erase(running_, job);
      running_shares_.give_back(job->asker);
    }
    // One who waits may have a thread now, and this one may be busy for a while with the answer.
    arrived_.notify_all();
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
