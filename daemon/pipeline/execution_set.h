// Executions of a process with something in common: that they are not drawn, that they have no tags.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>

#include "proto/base/ids.h"

namespace tailor::pipeline {

// The caller that begins executions bounds how many run at once. One thread.
class ExecutionSet {
 public:
  void begin(ExecutionHandle execution) { until_[execution] = kTimeMax; }
  // Nothing if it is none of them.
  void end(ExecutionHandle execution, TimeNs time) {
    const auto found = until_.find(execution);
    if (found == until_.end()) return;
    found->second = time;
    ++ended_;
  }
  // Samples of it are asked for in the order of the watermark.
  bool contains(ExecutionHandle execution) const {
    return !until_.empty() && execution != 0 && until_.contains(execution);
  }
  // Forgets what ended before `watermark`.
  void trim(TimeNs watermark) {
    if (ended_ == 0) return;
    ended_ -= std::erase_if(until_, [&](const auto& each) { return each.second < watermark; });
  }
  std::size_t size() const { return until_.size(); }

 private:
  std::map<ExecutionHandle, TimeNs> until_;  // kTimeMax: it runs
  std::size_t ended_ = 0;                    // of them
};

}  // namespace tailor::pipeline
