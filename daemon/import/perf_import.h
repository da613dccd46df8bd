// Turns a perf.data into what a recording of ours gives to its sink: the same pipeline, its records in place
// of our rings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/formats/perf_file.h"
#include "daemon/profile/sink.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::importer {

struct PerfImportOptions {
  // Of generated code, beside what is found by itself: jit-PID.dump where the process mapped it, or beside
  // the file; perf-PID.map beside the file and in /tmp, if it was written after the recording began.
  std::vector<std::string> jitdumps, perf_maps;
  bool find_names = true;
  std::string directory;        // of the file
  std::int64_t written_ns = 0;  // when the file was written last (CLOCK_REALTIME), 0 unknown
  std::uint8_t tag_register = capture::kNoTagRegister;  // perf register number
  std::function<void(std::uint64_t bytes)> progress;    // read so far; now and then
  // The journal of a recording of ours that was made at the same time on the same machine: what engines said
  // then owns the samples, as in that recording. The samples must have its clock
  // (`perf record -k CLOCK_MONOTONIC_RAW`). NULL: none. Must outlive the call.
  store::Input* dictionary = nullptr;
};

struct PerfImported {
  formats::PerfDescription description;
  profile::Accounting total;
  std::uint64_t samples = 0;          // given to the sink
  std::uint64_t records_of_perf = 0;  // of the tool itself
  std::uint64_t jit_functions = 0;    // named by jitdumps and perf maps
  std::uint64_t layouts = 0;          // how often events or their names changed between records
  std::vector<std::string> notes;     // for the user: what was found, and what could not be used
};

// Reads `file` from its beginning to its end, with memory for what perf has not yet put into order. Times are
// those of the recording's clock, processes have no start time unless the dictionary knows them. Fails for
// what is no perf.data, for one of the other byte order, where its headers or its compression are damaged,
// and for a dictionary of another clock or host; records that make no sense are counted.
Result<PerfImported> import_perf_data(store::Input& file, profile::ProfileSink& sink,
                                      const PerfImportOptions& options);

}  // namespace tailor::importer
