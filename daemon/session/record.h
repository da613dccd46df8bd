// `tailor record`: one command, its threads and children, sampled from its first instruction into one file;
// or a process that runs already.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/config/sampling_options.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/sink.h"
#include "proto/base/result.h"

namespace tailor::session {

struct RecordOptions {
  std::vector<std::string> command;
  std::string output = "profile.tailor";  // store::open_output()
  bool keep_old = false;                  // a file of that name is then called NAME.old
  std::string journal;                    // every input is kept there too; empty: none
  config::SamplingOptions sampling;
};

struct RecordOutcome {
  int exit_code = 0;          // of the command; 128 + n if signal n ended it
  profile::Accounting total;  // of all processes
  pipeline::PipelineStats pipeline;
  std::uint64_t own_cpu_ns = 0, wall_ns = 0;  // of the recorder, while it recorded
  profile::RecordingInfo recording;
  std::uint64_t stacks = 0;    // samples that brought a piece of their stack
  std::string sampling_notes;  // as in RecordingInfo
  std::uint64_t samples_written = 0;
  std::uint64_t bytes_written = 0;
  std::vector<pipeline::Problem> problems;  // the first ones
};

// Runs the command to its end. The files get their names when it has begun; before that, and where it never
// does, files of these names stay as they were. Where the profile goes to standard output, the command's own
// output goes to standard error.
// SIGINT, SIGTERM, SIGHUP and SIGQUIT that arrive meanwhile are passed on to it.
// Fails, before the command has run, if it does not exist, the output cannot be written, or sampling is
// denied (the error names the blocker and the remedy); and afterwards if the profile could not be completed.
// Call it from the main thread of a program without other threads: it forks.
Result<RecordOutcome> record(os::Os& os, const RecordOptions& options);

struct RunningProcess {
  std::int32_t pid = 0;
  double seconds = 0;        // 0: until it ends
  std::string agent_socket;  // where engines look for a daemon, unless the process was told another place
  std::function<void(const std::string& note)> on_begin;  // sampling has begun; what the user should know
};

// Records a process that runs, where no daemon does: its agent finds the recorder at the place where it looks
// for one. Until it ends, the time is up, or SIGINT, SIGTERM, SIGHUP or SIGQUIT comes. Options that concern a
// command do not count. Fails as above.
Result<RecordOutcome> record_running(os::Os& os, const RecordOptions& options, const RunningProcess& process);

}  // namespace tailor::session
