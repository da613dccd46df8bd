// Adds the time of a scope to a sum of milliseconds.
#pragma once

#include <chrono>

namespace tailor::jit {

class StopwatchAdd {
 public:
  explicit StopwatchAdd(double& milliseconds) : sum_(milliseconds) {}
  ~StopwatchAdd() {
    sum_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }
  StopwatchAdd(const StopwatchAdd&) = delete;
  StopwatchAdd& operator=(const StopwatchAdd&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tailor::jit
