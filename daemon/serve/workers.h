// Threads that do what takes long, so that an asker can stop waiting.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/serve/shares.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

// Any thread may ask.
class Workers {
 public:
  using Work = std::function<Result<std::string>(const Stop&)>;

  // At most `waiting` requests wait for one of `threads`, which have a lower priority than the others of the
  // process. Both are shared out (Shares): who asks much or slowly has part of the threads and of the places.
  // Askers who wait take turns.
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
  Result<std::string> run(const Asker& asker, const std::shared_ptr<Stop>& stop, Work work,
                          const std::function<bool()>& gone);

  // Does the work without waiting for it, and gives the answer to `done` on another thread; also that it was
  // cancelled. Where it fails, exhausted as above, `done` is not called.
  using Done = std::function<void(Result<std::string>)>;
  Status start(const Asker& asker, std::shared_ptr<Stop> stop, Work work, Done done);

  // Askers that have threads, that wait, and that were refused to wait.
  const Shares& running() const { return running_shares_; }
  const Shares& waiting() const { return waiting_shares_; }

 private:
  struct Job {
    Asker asker;
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
  std::shared_ptr<Job> next();

  std::mutex mutex_;
  std::condition_variable arrived_;
  // By asker: nobody has an empty queue.
  std::map<std::string, std::deque<std::shared_ptr<Job>>> waiting_;
  std::string last_;  // whose turn was last
  std::vector<std::shared_ptr<Job>> running_;
  Shares running_shares_, waiting_shares_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tailor::serve
