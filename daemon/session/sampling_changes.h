// Changes how a process is sampled while it is: periods are drawn anew, what they cost is bounded, and timers
// move from threads to CPUs.
#pragma once

#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/sampled_processes.h"
#include "daemon/session/sampling_notes.h"

namespace tailor::session {

// Control thread only. All but change_events() are to be called at every turn.
class SamplingChanges {
 public:
  // All must outlive this.
  SamplingChanges(os::Os& os, pipeline::Pipeline& pipeline, capture::CaptureReader& reader,
                  const OnProblem& on_problem, SampledProcesses& sampled, SamplingNotes& notes,
                  OverheadControl& overhead)
      : os_(os),
        pipeline_(pipeline),
        reader_(reader),
        on_problem_(on_problem),
        sampled_(sampled),
        notes_(notes),
        overhead_(overhead) {}

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

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  capture::CaptureReader& reader_;
  const OnProblem& on_problem_;
  SampledProcesses& sampled_;
  SamplingNotes& notes_;
  OverheadControl& overhead_;
};

}  // namespace tailor::session
