// What went wrong with the input, for the program's log. Bounded: a hostile engine must
// not fill memory or a disk with its complaints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::pipeline {

struct Problem {
  ProcessId process;  // {} if it is of no process
  std::string text;   // may quote what came from outside
};

class Problems {
 public:
  void add(ProcessId process, std::string text) {
    ++count_;
    if (kept_.size() < kKept) kept_.push_back({process, std::move(text)});
  }
  // Those since the last call, at most kKept; count() has them all.
  std::vector<Problem> take() { return std::exchange(kept_, {}); }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t kKept = 64;
  std::vector<Problem> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace tailor::pipeline
