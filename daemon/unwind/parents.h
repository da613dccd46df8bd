// Who began whom, as records of the kernel told it lately (perf_event_open(2), PERF_RECORD_FORK): a process
// that has ended has no root and no parent in /proc any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace tailor::unwind {

class Parents {
 public:
  void forked(std::int32_t child, std::int32_t parent) {
    if (child <= 0 || parent <= 0 || child == parent) return;  // a thread
    parents_.insert_or_assign(child, parent);
    children_.push_back(child);
    if (children_.size() <= kMost) return;
    parents_.erase(children_.front());
    children_.pop_front();
  }

  // The nearest first.
  std::vector<std::int32_t> above(std::int32_t process) const {
    std::vector<std::int32_t> found;
    for (auto at = parents_.find(process); at != parents_.end() && found.size() < kMostAbove;
         at = parents_.find(at->second)) {
      found.push_back(at->second);
    }
    return found;
  }

 private:
  static constexpr std::size_t kMost = 8192, kMostAbove = 4;
  std::map<std::int32_t, std::int32_t> parents_;
  std::deque<std::int32_t> children_;  // as they were told
};

}  // namespace tailor::unwind
