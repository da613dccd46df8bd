// Threads for work that a stranger can delay: a file of FUSE waits for its server, a socket for its peer. At
// most one of them works for a user at a time, so a user who makes it wait delays nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tailor::os {

class UserThreads {
 public:
  using Work = std::function<void()>;

  // Threads are started when they are needed, `most` at most. Further users wait for their turn.
  explicit UserThreads(std::size_t most);
  // Waits for nobody: the threads finish what was added, or end with the program. So no work may refer to
  // what its caller destroys.
  ~UserThreads();
  UserThreads(const UserThreads&) = delete;
  UserThreads& operator=(const UserThreads&) = delete;

  // Does the work on one of the threads, after what was added for this user before. Returns at once. Any
  // thread. The caller bounds how much waits.
  void add(std::uint32_t uid, Work work);

 private:
  class State;
  std::shared_ptr<State> state_;  // of the threads too
};

}  // namespace tailor::os
