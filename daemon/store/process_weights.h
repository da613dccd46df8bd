// To which processes the bytes of a block belong: what makes it large, by process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "proto/base/ids.h"

namespace tailor::store {

// By process; {} is nobody.
using BytesOfProcesses = std::map<ProcessId, std::uint64_t>;

class ProcessWeights {
 public:
  void add(ProcessId process, std::uint64_t weight) {
    // Neighbours are mostly of one process.
    if (sum_ == nullptr || process != last_) {
      last_ = process;
      sum_ = &weights_[process];
    }
    *sum_ += weight;
  }
  // What was added since the last time.
  BytesOfProcesses take() {
    sum_ = nullptr;
    return std::exchange(weights_, {});
  }

 private:
  BytesOfProcesses weights_;
  ProcessId last_;
  std::uint64_t* sum_ = nullptr;  // that of last_; NULL: none yet
};

// Adds to `sums` what each process has of `bytes`, which have these weights: a byte at least, so that nobody
// who has something seems to have nothing. The part of nobody is left out.
inline void add_parts_of(std::uint64_t bytes, const BytesOfProcesses& weights, BytesOfProcesses& sums) {
  double all = 0;
  for (const auto& [process, weight] : weights) all += static_cast<double>(weight);
  if (all <= 0) return;
  for (const auto& [process, weight] : weights) {
    if (process == ProcessId{} || weight == 0) continue;
    const double part = static_cast<double>(bytes) * static_cast<double>(weight) / all;
    sums[process] += std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part));
  }
}

}  // namespace tailor::store
