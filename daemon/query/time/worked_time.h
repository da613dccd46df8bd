// Elapsed time divided among the threads that worked in it: what made something take so long.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::query {

// The time that one sample stands for: its weight in ns of CPU time, up to the moment it was taken. Its own
// weight, and no mean: periods differ, and long ones would count too little.
struct WorkSpan {
  TimeNs begin = 0, end = 0;  // [begin, end)
  std::uint64_t thread = 0;   // a number
};

struct WorkedTime {
  std::vector<double> parts;   // ns of elapsed time, of each span
  std::vector<TimeNs> worked;  // ns of the span that count as CPU time
  TimeNs covered = 0;          // ns in which a thread worked; the parts add up to it
};

// Of what lies in [from, to). At each moment, every thread with a span that holds the moment works, and each
// of them has an equal part of it. A span begins no earlier than the thread's span before it ended, so a
// thread counts once. n log n; some 90 bytes a span.
WorkedTime divide_elapsed(const std::vector<WorkSpan>& spans, TimeNs from, TimeNs to);

}  // namespace tailor::query
