// Work on files that runs when a test says so: a file that is slow to read, or that its server never gives.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "daemon/unwind/file_work.h"

namespace tailor::test {

class LaterWork {
 public:
  unwind::FileWork::Run run() {
    return [this](std::uint32_t user, unwind::FileWork::Work work) {
      waiting_[user].push_back(std::move(work));
    };
  }
  std::size_t waiting(std::uint32_t user) { return waiting_[user].size(); }
  std::size_t waiting() const {
    std::size_t all = 0;
    for (const auto& [user, works] : waiting_) all += works.size();
    return all;
  }
  // One piece of the user's, or all that waits.
  void do_one(std::uint32_t user) {
    const auto work = std::move(waiting_[user].front());
    waiting_[user].pop_front();
    work();
  }
  void do_all() {
    for (auto& [user, works] : waiting_)
      while (!works.empty()) do_one(user);
  }

 private:
  std::map<std::uint32_t, std::deque<unwind::FileWork::Work>> waiting_;
};

}  // namespace tailor::test
