// What a read of an event tells besides its samples (perf_event_open(2), "Reading results").
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/os/os.h"

namespace tailor::capture {

struct EventCounts {
  std::uint64_t enabled_ns = 0;  // CPU time of its threads, or time of its CPU, in which it was to count
  std::uint64_t running_ns = 0;  // of this, the time in which it had a counter
  std::uint64_t lost = 0;        // samples, for lack of room in its ring
};

// Any thread. Nothing if the kernel does not answer, or not in the form that `attr` asked for. Counts that
// the form leaves out are 0.
std::optional<EventCounts> read_event_counts(os::Os& os, int fd, const perf_event_attr& attr);

// The times of all events of one source.
struct CountedTime {
  std::string source;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;
};

// Names the sources whose events shared counters with others and so missed time: weights of their samples
// stand for the rest only. "" if none did.
std::string tell_shared_counters(std::span<const CountedTime> sources);

}  // namespace tailor::capture
