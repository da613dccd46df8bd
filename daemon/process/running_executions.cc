#include "daemon/process/running_executions.h"

#include <algorithm>

namespace tailor::process {

void RunningExecutions::begin(ExecutionHandle handle, PlanId plan, TimeNs time) {
  if (!running_.emplace(handle, plan).second) return;
  runs_[plan][handle] = {time, kTimeMax};
}

void RunningExecutions::end(ExecutionHandle handle, TimeNs time) {
  const auto found = running_.find(handle);
  if (found == running_.end()) return;
  runs_[found->second][handle].end = time;
  ++ended_;
  running_.erase(found);
}

void RunningExecutions::end_all(TimeNs time) {
  while (!running_.empty()) end(running_.begin()->first, time);
}

ExecutionHandle RunningExecutions::sole(PlanId plan, TimeNs time) const {
  const auto found = runs_.find(plan);
  if (found == runs_.end()) return 0;
  ExecutionHandle sole = 0;
  for (const auto& [handle, run] : found->second) {
    if (run.begin > time || run.end <= time) continue;
    if (sole != 0) return 0;
    sole = handle;
  }
  return sole;
}

void RunningExecutions::trim(TimeNs watermark) {
  if (ended_ == 0) return;
  ended_ = 0;
  for (auto plan = runs_.begin(); plan != runs_.end();) {
    std::erase_if(plan->second, [&](const auto& run) { return run.second.end <= watermark; });
    ended_ += static_cast<std::size_t>(
        std::ranges::count_if(plan->second, [](const auto& run) { return run.second.end != kTimeMax; }));
    plan = plan->second.empty() ? runs_.erase(plan) : std::next(plan);
  }
}

}  // namespace tailor::process
