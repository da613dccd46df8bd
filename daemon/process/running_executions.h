// Which executions a process said were running, found by (plan, time).
#pragma once

#include <cstddef>
#include <map>

#include "proto/base/ids.h"

namespace tailor::process {

// The caller that begins executions bounds how many run at once. One thread.
class RunningExecutions {
 public:
  void begin(ExecutionHandle handle, PlanId plan, TimeNs time);
  // Nothing if it does not run.
  void end(ExecutionHandle handle, TimeNs time);
  void end_all(TimeNs time);

  // The only one of the plan that ran at `time`; 0: none did, or several. No allocation; O(those of the plan
  // that run or ended since the last trim).
  ExecutionHandle sole(PlanId plan, TimeNs time) const;

  // Forgets what ended before `watermark`.
  void trim(TimeNs watermark);

 private:
  struct Run {
    TimeNs begin;
    TimeNs end;  // kTimeMax: runs
  };

  std::map<PlanId, std::map<ExecutionHandle, Run>> runs_;
  std::map<ExecutionHandle, PlanId> running_;
  std::size_t ended_ = 0;  // in runs_
};

}  // namespace tailor::process
