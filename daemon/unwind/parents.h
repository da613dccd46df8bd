// Who began whom, as records of the kernel told it lately (perf_event_open(2), PERF_RECORD_FORK): a process
// that has ended has no root and no parent in /proc any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace tailor::unwind {

class Parents {
 public:
  void forked(std::int32_t child, std::int32_t parent) {
    if (child <= 0 || parent <= 0 || child == parent) return;  // a thread
    parents_.insert_or_assign(child, parent);
    told_.emplace_back(child, parent);
    if (told_.size() <= kMost) return;
    // Its number may be another child's by now.
    const auto known = parents_.find(told_.front().first);
    if (known != parents_.end() && known->second == told_.front().second) parents_.erase(known);
    told_.pop_front();
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
  std::deque<std::pair<std::int32_t, std::int32_t>> told_;  // child and parent, in their order
};

}  // namespace tailor::unwind
