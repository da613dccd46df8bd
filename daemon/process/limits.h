// How much of one process the daemon keeps. Anything beyond is refused with a reason and counted: a process
// can make its own profile poorer, never the daemon larger.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailor::process {

struct Limits {
  std::uint32_t levels = 16;             // of a plan
  std::uint32_t components = 1u << 22;   // of a level
  std::uint32_t undescribed = 65536;     // of a level of which nothing is said but their number
  std::uint32_t pipelines = 65535;       // of a plan; an attribution has 16 bits for them
  std::size_t plans = 65536;             // live and retained
  std::size_t code_objects = 65536;      // live
  std::size_t foreign_codes = 1u << 20;  // of jitdumps and perf maps, told ever: a reader takes no more
  std::size_t retired_code = 16384;     // unloaded, until the watermark has passed: looked through by samples
  std::size_t code_bytes = UINT32_MAX;  // of one object: the range it claims, as places in it have 32 bits
  std::size_t bytes = 256u << 20;       // of row tables and machine code, live and retained
  std::size_t threads = 16384;          // with a log
  std::size_t executions = 65536;       // running at once
  std::size_t components_declared = 65536;  // engine components
  std::size_t component_ranges = 65536;     // of engine components
  std::size_t region_kinds = 65536;
  std::size_t regions = 1u << 22;         // of data memory, live
  std::size_t region_changes = 1u << 22;  // between watermark and now
  std::size_t mappings = 16384;           // of files with code
  std::size_t memory_areas = 65536;       // mappings of all kinds, for data addresses
  std::size_t thread_changes = 1u << 20;  // of one thread, between watermark and now
  std::uint32_t nesting = 64;             // of executions, pipelines and components in one thread

  // Of all processes, and of all processes of one user: see daemon/pipeline/shares.h.
  std::size_t total_bytes = std::size_t{1} << 30;
  std::size_t user_plans = 65536;                        // live
  std::size_t user_code_bytes = std::size_t{512} << 20;  // live, with their tables, and told of files
  std::size_t user_regions = 1u << 22;                   // live
};

}  // namespace tailor::process
