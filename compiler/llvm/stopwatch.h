// Adds the time of a scope to a sum.
#pragma once

#include <x86intrin.h>

#include <chrono>
#include <cstdint>

namespace tailor::jit {

// In milliseconds.
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

// In ticks of the time stamp counter, for scopes that are many and short.
class TickAdd {
 public:
  explicit TickAdd(std::uint64_t& ticks) : sum_(ticks) {}
  ~TickAdd() { sum_ += __rdtsc() - begin_; }
  TickAdd(const TickAdd&) = delete;
  TickAdd& operator=(const TickAdd&) = delete;

 private:
  std::uint64_t& sum_;
  std::uint64_t begin_ = __rdtsc();
};

}  // namespace tailor::jit
