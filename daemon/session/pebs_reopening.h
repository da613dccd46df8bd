// Begins a recording again with an interrupt per sample, where records of PEBS have no times of their own.
#pragma once

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/sampled_processes.h"

namespace tailor::session {

// Control thread only.
class PebsReopening {
 public:
  // All must outlive this.
  PebsReopening(os::Os& os, const pipeline::Pipeline& pipeline, const OnProblem& on_problem,
                SampledProcesses& sampled, PebsTrust& trust)
      : os_(os), pipeline_(pipeline), on_problem_(on_problem), sampled_(sampled), trust_(trust) {}

  // To be called at every turn. Closes events whose records can no longer be relied on.
  void watch();
  // The events that watch() had closed have handed over everything. False: the process has ended meanwhile.
  bool reopen(const ProcessSampling& before);

 private:
  os::Os& os_;
  const pipeline::Pipeline& pipeline_;
  const OnProblem& on_problem_;
  SampledProcesses& sampled_;
  PebsTrust& trust_;
};

}  // namespace tailor::session
