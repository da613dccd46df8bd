// How a perf.data is imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::importer {

// A file of a recording that is a directory, beside its main file.
struct PerfPart {
  store::Input* file = nullptr;  // records alone; must outlive the call
  std::string name;
};

struct PerfImportOptions {
  // Of generated code, beside what is found by itself: JitNames.
  std::vector<std::string> jitdumps, perf_maps;
  bool find_names = true;
  std::string directory;                    // where the recording lies
  std::int64_t written_ns = 0;              // when the file was written last (CLOCK_REALTIME), 0 unknown
  std::optional<std::uint32_t> owner = {};  // its user id; none: not known
  std::vector<PerfPart> parts = {};
  std::uint8_t tag_register = capture::kNoTagRegister;  // perf register number
  // Of memory, for what waits for its order; 0: PerfFeed::kMostHeldBytes.
  std::size_t most_held_bytes = 0;
  // Now and then, with the bytes of records and names that were really read so far, whatever the file says of
  // its size and places: memory may be bounded by them. Its error ends the import.
  std::function<Status(std::uint64_t bytes)> progress;
  // The journal of a recording of ours that was made at the same time on the same machine: what engines said
  // then owns the samples, as in that recording. The samples must have its clock
  // (`perf record -k CLOCK_MONOTONIC_RAW`). NULL: none. Must outlive the call.
  store::Input* dictionary = nullptr;
};

}  // namespace tailor::importer
