// Keeps what sampling costs the sampled threads below a share of their CPU time, by the period.
//
// A sample costs its thread some nanoseconds, whatever consumes it: the interrupt and, in a virtual machine,
// the exits of the timer (sample_cost.h measures them). So the share is
//
//   samples * cost / CPU time  =  cost * rate / period,     rate: events in a nanosecond of CPU time
//
// and the period follows. For a clock the rate is 1; of other events it is learnt.
#pragma once

#include <cstdint>
#include <random>

namespace tailor::capture {

struct GovernorOptions {
  double max_overhead = 0.01;      // share of the target's CPU time, above 0
  std::uint64_t least_period = 1;  // what was asked for: there are never more samples than that
  double events_per_ns = 1;        // of CPU time, until some were seen
  bool multiple_of_16 = false;     // IBS ignores the lowest four bits of a period; else it is a prime
  std::uint64_t seed = 0;
};

// Deterministic: the same calls give the same periods. Not thread-safe.
class OverheadGovernor {
 public:
  explicit OverheadGovernor(const GovernorOptions& options);

  // What a sample costs the thread it is taken of, in ns of CPU time, measured anew. Measurements are noisy,
  // so it counts half, the first one wholly; below 0 counts as 0.
  void set_cost(double ns);
  double cost() const { return cost_ns_; }

  // `samples` were taken in `cpu_ns` of the target's CPU time, with the period of the last draw. Few samples
  // say nothing: they wait until more have come.
  void observe(std::uint64_t samples, std::uint64_t cpu_ns);

  // Draws the next period, so that it does not stay in step with loops of the target: a prime between the
  // least one that keeps the share and a tenth more.
  std::uint64_t draw();
  std::uint64_t period() const { return period_; }

  // The share of the target's CPU time that samples of this period cost.
  double overhead() const;

 private:
  GovernorOptions options_;
  std::mt19937_64 random_;
  double events_per_ns_;
  struct Seen {
    std::uint64_t samples = 0;
    double events = 0, cpu_ns = 0;
  } seen_;               // since the rate was learnt last
  double cost_ns_ = -1;  // not measured yet
  std::uint64_t period_;
};

}  // namespace tailor::capture
