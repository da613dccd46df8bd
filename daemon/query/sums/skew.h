// How unevenly threads shared work: the thread with most of it against the mean of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace tailor::query {

// Sums over executions, in ns of CPU time.
struct Skew {
  double busiest = 0;  // of the thread with most of it in each execution
  double mean = 0;     // of the threads that did the same work there; above 0
  double least = 0;    // that the busiest surely had

  // 1 is even.
  double value() const { return busiest > mean ? busiest / mean : 1; }
  // The true value is at least this with 95 % confidence. At 1 or less, chance alone explains the difference.
  double low() const { return least / mean; }
  // What was found in other executions.
  void add(const Skew& other) {
    busiest += other.busiest;
    mean += other.mean;
    least += other.least;
  }
};

// Of the work that a row of a report stands for. Executions in which one thread did all of it say nothing:
// whether others could have helped is not known here. Nor are threads known that had no sample of it.
class SkewSum {
 public:
  // What a thread did in an execution: its CPU time in ns, and the sum of the squares of its samples' times.
  // Both are numbers that the caller gives out. May be called again for the same pair.
  void add(std::uint32_t execution, std::uint64_t thread, double cpu_ns, double squares);
  // None where no execution had two threads.
  std::optional<Skew> skew() const;

 private:
  struct Work {
    double cpu_ns = 0, squares = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Work> work_;
};

}  // namespace tailor::query
