// What a recorder itself says of losses.
//
// At its end perf (of Linux 6.1 and newer) reads what each event lost so far (PERF_FORMAT_LOST), and writes
// that as a PERF_RECORD_LOST_SAMPLES. These are the losses that the kernel told by PERF_RECORD_LOST already,
// and those of the end, for which it had no occasion. So the two must not be added. Samples that a filter of
// the recorder dropped come in such records as well: nobody lost them.
//
// Sans I/O; bytes are not trusted.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "daemon/formats/perf_file.h"

namespace tailor::formats {

class PerfLosses {
 public:
  // Whether the recorder wrote this PERF_RECORD_LOST_SAMPLES; then it is counted here. The kernel's have the
  // time or the thread of the moment, and are for others. `attr`: of an event of the recording.
  bool take(PerfBytes record, const perf_event_attr& attr);

  std::uint64_t lost() const { return lost_; }          // all, told by the kernel or not
  std::uint64_t filtered() const { return filtered_; }  // dropped by a filter

 private:
  std::uint64_t lost_ = 0, filtered_ = 0;
};

}  // namespace tailor::formats
