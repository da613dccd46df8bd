// Changes how a process is sampled while it is: periods are drawn anew, what they cost is bounded, timers
// move from threads to CPUs, and PEBS is no longer trusted.
#pragma once

#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/sampled_processes.h"

namespace tailor::session {

// Control thread only. All but reopen() and change_events() are to be called at every turn.
class SamplingChanges {
 public:
  struct Parts {
    os::Os& os;
    pipeline::Pipeline& pipeline;
    capture::CaptureReader& reader;
    const LiveClock& clock;
    const OnProblem& on_problem;
  };
  // All must outlive this.
  SamplingChanges(const Parts& parts, SampledProcesses& sampled, PebsTrust& pebs_trust,
                  OverheadControl& overhead)
      : parts_(parts), sampled_(sampled), pebs_trust_(pebs_trust), overhead_(overhead) {}

  // Begins again with an interrupt per sample, where records have no times of their own.
  void watch_pebs();
  // The events that watch_pebs() had closed have handed over everything. False: the process has ended
  // meanwhile.
  bool reopen(const ProcessSampling& before);
  // Other events, or the same ones with other periods, take the place of those of a process that is sampled.
  // The old ones stay if that fails.
  Status change_events(ProcessSampling& sampled, const capture::CaptureOptions& wanted);
  // Moves events to the CPUs, where threads are born, or switched, too often.
  void watch_threads();
  // Draws periods anew that are due, without a bound on their cost.
  void redraw_periods();
  // The same with a bound.
  void govern();

 private:
  void resample(ProcessSampling& sampled);
  void follow_family(capture::CaptureOptions& options);
  Status draw_anew(ProcessSampling& sampled, const capture::CaptureOptions& options);
  Status change_to_cpus(ProcessSampling& sampled, const std::string& why);
  TargetProgress progress_of(ProcessId process);

  const Parts parts_;
  SampledProcesses& sampled_;
  PebsTrust& pebs_trust_;
  OverheadControl& overhead_;
};

}  // namespace tailor::session
