// Threads that do what takes long, so that whoever asked can stop waiting.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

// Any thread may ask.
class Workers {
 public:
  using Work = std::function<Result<std::string>(const Stop&)>;

  // At most `waiting` requests wait for one of `threads`, which have a lower priority than the others of the
  // process.
  Workers(std::size_t threads, std::size_t waiting);
  // Cancels what runs and waits for it. Not while run() waits: end() comes first, elsewhere.
  ~Workers();
  // Cancels what runs and takes nothing new.
  void end();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Does the work and waits for it, until `stop` says so or `gone`, asked a few times a second, says that
  // nobody wants the answer any more; then the work is cancelled and goes on alone to where it asks.
  // Exhausted where too many wait.
  Result<std::string> run(const std::shared_ptr<Stop>& stop, Work work, const std::function<bool()>& gone);

  // Does the work without waiting for it, and gives the answer to `done` on another thread; also that it was
  // cancelled. Where it fails, exhausted as above, `done` is not called.
  using Done = std::function<void(Result<std::string>)>;
  Status start(std::shared_ptr<Stop> stop, Work work, Done done);

 private:
  struct Job {
    Work work;
    std::shared_ptr<Stop> stop;
    Done give;  // empty: somebody waits for `answer`
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Result<std::string>> answer;
  };

  static Result<std::string> answer_of(const Job& job);
  Status enqueue(std::shared_ptr<Job> job);
  void loop();

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::vector<std::shared_ptr<Job>> running_;
  const std::size_t most_waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tailor::serve
