// What the parts of a live recording work with.
#pragma once

#include <functional>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/recording_facts.h"

namespace tailor::session {

// On the control thread; may log.
using OnProblem = std::function<void(const pipeline::Problem&)>;

// Control thread only. All of it outlives the parts.
struct RecordingParts {
  os::Os& os;
  pipeline::Pipeline& pipeline;
  pipeline::Input& input;  // the journal, then the pipeline
  capture::CaptureReader& reader;
  const LiveClock& clock;
  CpuAccounts& cpu;
  RecordingFacts& facts;
  const OnProblem& on_problem;
};

}  // namespace tailor::session
