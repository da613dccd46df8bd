// Which execution a thread works for, by its marks: the innermost one that is open. One thread.
#pragma once

#include <array>
#include <cstdint>

namespace tailor::agent {

class NestedExecutions {
 public:
  // Engines nest a statement in a statement, and rarely more.
  static constexpr std::uint32_t kMost = 4;

  void clear() { depth_ = 0; }
  void begin(std::uint64_t execution) {
    if (depth_ < kMost) open_[depth_] = execution;
    ++depth_;
  }
  // Closes the innermost that fits, with what was begun in it, as the reader of the log does.
  void end(std::uint64_t execution) {
    if (depth_ > kMost) {
      --depth_;
      return;
    }
    for (std::uint32_t at = depth_; at > 0; --at) {
      if (open_[at - 1] != execution) continue;
      depth_ = at - 1;
      return;
    }
  }
  // 0: none, or too deep to know.
  std::uint64_t innermost() const { return depth_ == 0 || depth_ > kMost ? 0 : open_[depth_ - 1]; }

 private:
  std::array<std::uint64_t, kMost> open_{};
  std::uint32_t depth_ = 0;
};

}  // namespace tailor::agent
