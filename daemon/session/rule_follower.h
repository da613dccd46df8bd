// Follows the rules of the configuration: who is sampled without having registered, and who is not sampled at
// all.
#pragma once

#include <string>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/paused_processes.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/sampled_processes.h"

namespace tailor::session {

// Control thread only.
class RuleFollower {
 public:
  // `capture`: of every process that is sampled. All must outlive this.
  RuleFollower(os::Os& os, pipeline::Pipeline& pipeline, const OnProblem& on_problem,
               SampledProcesses& sampled, PausedProcesses& paused, const capture::CaptureOptions& capture,
               ProcessRules rules);

  // Other rules from now on: what they no longer choose is sampled no more. look() is to follow.
  void set(ProcessRules rules);
  // Looks at all processes of the host, because a process may become another program at any time: samples
  // those that the rules choose, and goes on with those that they no longer ignore. `ending`: no process
  // more.
  void look(bool ending);
  // The last look() left out what cannot be opened yet (SampledProcesses::may_open): look again soon.
  bool is_waiting() const { return waits_; }
  // Why a process must not be sampled; "" if it may be.
  std::string why_ignored(ProcessId process);

 private:
  void settle_ignored();
  void forget_refused();
  void sample_chosen();
  bool may_choose(ProcessId process) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  const OnProblem& on_problem_;
  SampledProcesses& sampled_;
  PausedProcesses& paused_;
  const capture::CaptureOptions& capture_;
  ProcessRules rules_;
  bool waits_ = false;
};

}  // namespace tailor::session
