// The records of a perf.data file as events, and what its events mean. The container is read by
// daemon/formats/perf_file.h. Sans I/O: the caller gives the bytes of the file, which are not trusted.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/formats/perf_file.h"
#include "proto/base/result.h"

namespace tailor::formats {

using PerfDataEvent = PerfAttr;  // `name` as recorded, else made from the attribute

// One ring for all records of a recording with these events, and the sources that its samples name.
capture::RingLayout perf_data_layout(const std::vector<PerfDataEvent>& events, std::uint8_t tag_register,
                                     std::vector<profile::Source>& sources);

// What was read; times are those of the recording's clock, the order is that of the file.
struct PerfData {
  std::vector<PerfDataEvent> events;  // Event::source is an index into them
  std::vector<profile::Source> sources;
  capture::Batch batch;
  capture::DecodeCounts counts;
  std::uint64_t tool_records = 0;  // of perf itself, not of the kernel: passed over
};

// All of a recording at once. Fails for what is no perf.data file, for a file of another byte order, for
// damaged compression, and where a section does not fit the file. Damaged records are counted, not fatal;
// records after a damaged header are not found again (counts.cut_bytes).
Result<PerfData> read_perf_data(std::span<const std::byte> file,
                                std::uint8_t tag_register = capture::kNoTagRegister);

}  // namespace tailor::formats
