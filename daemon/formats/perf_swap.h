// Brings what a machine of the other byte order wrote into our order, so that nobody behind has to know of
// it. A number of eight bytes that is two of four (a process and its thread, a CPU) keeps their places. Sans
// I/O; bytes are not trusted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/formats/perf_event_of.h"

namespace tailor::formats {

// The first bytes of an attribute, as many as there are. That machine fills bit fields from the other end.
void swap_perf_attr(std::span<std::byte> attr);

class PerfSwap {
 public:
  // `record`: one whole record of the kernel. `events`: those that were announced so far; between two calls
  // they only grow. Text, raw data and dumps of memory stay as they are. Of a record that does not fit its
  // own sizes the rest stays too: it does not fit them afterwards.
  void record(std::span<std::byte> record, const std::vector<PerfAttr>& events);

 private:
  PerfEventOf event_of_;
};

}  // namespace tailor::formats
