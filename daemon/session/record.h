// `tailor record`: one command, its threads and children, sampled from its first instruction into one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/sink.h"
#include "daemon/session/sampling_options.h"
#include "proto/base/result.h"

namespace tailor::session {

struct RecordOptions {
  std::vector<std::string> command;
  std::string output = "profile.tailor";  // replaced if it exists
  std::string journal;                    // every input is kept there too; empty: none
  SamplingOptions sampling;
};

struct RecordOutcome {
  int exit_code = 0;          // of the command; 128 + n if signal n ended it
  profile::Accounting total;  // of all processes
  pipeline::PipelineStats pipeline;
  std::uint64_t own_cpu_ns = 0, wall_ns = 0;  // of the recorder, while it recorded
  profile::RecordingInfo recording;
  std::uint64_t stacks = 0;  // samples that brought a piece of their stack
  std::string capture_row;   // what could not be sampled, and why; empty: everything asked for
  std::uint64_t samples_written = 0;
  std::uint64_t bytes_written = 0;
  std::vector<pipeline::Problem> problems;  // the first ones
};

// Runs the command to its end. SIGINT, SIGTERM, SIGHUP and SIGQUIT that arrive meanwhile are passed on to it.
// Fails, before the command has run, if it does not exist, the output cannot be written, or sampling is
// denied (the error names the blocker and the remedy); and afterwards if the profile could not be completed.
// Call it from the main thread of a program without other threads: it forks.
Result<RecordOutcome> record(os::Os& os, const RecordOptions& options);

}  // namespace tailor::session
