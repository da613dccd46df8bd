// What is sampled and how, as a user asks for it: the part of their options that `tailor record` and tailord
// share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/capture/select/event_spec.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::config {

struct SamplingOptions {
  std::vector<std::string> events = {"auto"};  // presets and names: daemon/capture/select/event_selection.h
  std::uint64_t frequency = 997;               // samples a second of CPU time, on average
  capture::SampledBy sampled_by = capture::SampledBy::kAuto;
  capture::Stacks stacks = capture::Stacks::kAdaptive;
  capture::Placement placement = capture::Placement::kAuto;
  TimeNs aggregate = 0;     // see capture::CaptureOptions
  bool callchain = false;   // for engines that give no tags
  bool memory = false;      // registers too, for the operands of instructions
  bool all_marks = false;   // the profile keeps every record of the activity logs
  double max_overhead = 0;  // share of a target's CPU time, 0: no bound
  std::uint64_t seed = 0;   // of the periods that max_overhead makes
  // Of a million executions, how many are sampled, and how many run without tags.
  std::uint32_t sampled_executions = 1'000'000, untagged_executions = 0;
};

// Looks at the host's counters, and opens events on the calling thread to see what "auto" may take. The error
// names the option, what is missing and what to take instead.
Result<capture::CaptureOptions> capture_options(os::Os& os, const SamplingOptions& options);

}  // namespace tailor::config
