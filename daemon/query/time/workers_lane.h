// How many threads worked, and how many waited, at each moment: the lane beside a timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

struct WorkersLane {
  std::uint64_t threads = 0;    // that worked in the time
  std::vector<double> working;  // by part of the time: how many of them worked, on average
  // The same of those that were off the CPU, but for the run queue and for Tailor's own agent. Empty: there
  // is no sample of it.
  std::vector<double> waiting;
};

// Of [from, to) in `buckets` equal parts; `keep` empty: all samples of the selection, whatever their time.
// Each sample stands for a span, its weight in ns up to the moment it was taken, which begins no earlier than
// the span of the same thread before it ended. None where the source does not measure time on the CPU, where
// samples were added up, and where no thread worked. n log n; some 30 bytes a sample.
std::optional<WorkersLane> workers_lane(const Profile& profile, const Selection& selection,
                                        std::uint16_t source, TimeNs from, TimeNs to, std::uint32_t buckets,
                                        const std::function<bool(const TimedSample&)>& keep);

}  // namespace tailor::query
