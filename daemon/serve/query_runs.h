// Which runs of a query a report adds up: one run of a short query has no sample, or a few.
#pragma once

#include <cstdint>

#include "daemon/serve/library.h"

namespace tailor::serve {

// How to visit executions whose runs are added up: newest first by the wall clock, which target() goes by,
// and not by the starts of the daemon.
ExecutionFilter in_order_of_time(ExecutionFilter filter);

// The newest runs that have enough samples together. Rows of the query come newest first.
class QueryRuns {
 public:
  // More samples make no interval narrower that anybody looks at, and take time to read.
  static constexpr std::uint64_t kEnoughSamples = 100'000;

  void add(const store::ExecutionRow& row);

  // Whether what follows is left out.
  bool is_full() const { return samples_ >= kEnoughSamples || taken_ >= kMostFiltered; }
  std::uint64_t taken() const { return taken_; }  // rows
  // Executions in them: runs that an engine added up in one row count each.
  std::uint64_t executions() const { return executions_; }
  std::uint64_t sampled() const { return sampled_; }    // rows with samples
  std::uint64_t left_out() const { return left_out_; }  // older executions
  // Those that are taken, of what `filter` lets through: it names the query.
  Target target(ExecutionFilter filter) const;

 private:
  std::uint64_t taken_ = 0, executions_ = 0, sampled_ = 0, left_out_ = 0, samples_ = 0;
  std::uint64_t oldest_ns_ = 0, newest_ns_ = 0;  // when they began
};

}  // namespace tailor::serve
