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

// How the records of a recording are to be read, beside their events.
struct PerfLayoutOptions {
  std::uint8_t tag_register = capture::kNoTagRegister;
  bool rewritten = false;  // they come from a PerfRewriter
  // The machine, as uname -m says it; "": this one. Registers of another architecture have other numbers.
  std::string arch = {};
};
bool is_x86(const std::string& arch);
// Of a file of the other byte order that does not say its machine.
inline constexpr const char* kOtherOrderArch = "big-endian";

// One ring for all records of a recording with these events, and the sources that its samples name.
capture::RingLayout perf_data_layout(const std::vector<PerfDataEvent>& events,
                                     const PerfLayoutOptions& options, std::vector<profile::Source>& sources);

// What was read; times are those of the recording's clock, the order is that of the file.
struct PerfData {
  std::vector<PerfDataEvent> events;  // Event::source is an index into them
  std::vector<profile::Source> sources;
  capture::Batch batch;
  capture::DecodeCounts counts;
  std::uint64_t tool_records = 0;     // of perf itself, not of the kernel: passed over
  std::uint64_t unknown_members = 0;  // counts in samples of groups that belong to no event
  std::uint64_t missing_bytes = 0;    // fewer than the header says, or than a record says
  bool unfinished = false;            // the recorder was killed
};

// All of a recording at once, of either byte order. Fails for what is no perf.data file, for damaged
// compression, and where its events do not fit the file. Damaged records are counted, not fatal; records
// after a damaged header are not found again (counts.cut_bytes). Of a file that was cut it gives what is
// there.
Result<PerfData> read_perf_data(std::span<const std::byte> file,
                                std::uint8_t tag_register = capture::kNoTagRegister);

}  // namespace tailor::formats
