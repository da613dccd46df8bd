// What a sample costs the thread it is taken of. The progress of a target cannot be seen without hardware
// counters, so it is found out on a loop of our own: the same work again and again, by turns with and without
// samples, in CPU time.
//
// The cost is that of taking the sample: interrupt, record and, in a virtual machine, the exits of the timer.
// The misses of the target's caches afterwards are not in it.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/capture/select/event_spec.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// The same piece of work, done once.
struct TrialSlice {
  std::uint64_t cpu_ns = 0;   // of the thread
  std::uint64_t samples = 0;  // taken of it
};
using Trial = std::function<Result<TrialSlice>(bool sampled)>;

// Runs `pairs` of slices, one with and one without samples. Nanoseconds a sample, the median over the pairs,
// at least 0; an error if no sample was taken, or that of the trial.
Result<double> sample_cost(const Trial& trial, int pairs);

// The same for the event `spec`, opened as `options` say, on the calling thread: 7 ms a pair. Events of time
// are taken ten thousand times a second meanwhile, others at their period. Errors are those of opening.
Result<double> measure_sample_cost(os::Os& os, const EventSpec& spec, const CaptureOptions& options,
                                   int pairs);

}  // namespace tailor::capture
