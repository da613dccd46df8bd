// What an agent told after samples of that time had been attributed: plans, whose tags were refused then, and
// that it is there at all, which an engine says at the end of its start. The samples wait with the tag. This
// gives them what attribution would have said.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::query {

// First everything that was said, then the executions again, beside the samples. One thread.
class LatePlans {
 public:
  void on_process(const profile::ProcessRecord& process);
  void on_component(ProcessId process, std::uint32_t id);
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan);
  // At any time for one that was told late itself; beside the samples for all.
  void on_execution(const profile::ExecutionRecord& execution);
  // A sample is there that was attributed before any agent spoke for its process.
  void on_unregistered(ProcessId process, TimeNs first);
  bool empty() const;
  // Whether any plan of the process came late, or its agent.
  bool came_late(ProcessId process) const;
  std::size_t bytes() const { return bytes_; }  // of memory, about

  // True if the sample was unattributed and is no longer. A tag counts as it does in attribute.h: before a
  // caller and a component, not before code. How the tag was found is not kept: it is told as one of the
  // register.
  bool apply(profile::SampleRecord& sample) const;

 private:
  struct Plan {
    PlanId id = 0;
    TimeNs loaded = 0;
    TimeNs late_until = kTimeMin;  // samples up to then were attributed without it
    LevelIndex upper_level = 0, lower_level = 0;
    bool has_lower_level = false;
    std::uint32_t uppers = 0, lowers = 0;  // components of these levels
  };
  struct Run {
    PlanId plan = 0;
    TimeNs begin = 0, end = kTimeMax;
  };
  struct Process {
    std::map<TimeNs, std::uint64_t> keys;  // of tags, by when an agent registered
    std::set<std::uint32_t> components;
    std::map<std::uint32_t, std::vector<Plan>> slots;  // by slot and generation; by load
    TimeNs late_until = kTimeMin;                      // the greatest of them
    std::unordered_map<ExecutionHandle, Run> runs;
    TimeNs unregistered = kTimeMax;  // when the first such sample was taken, or its block began
  };

  static bool started_unseen(const Process& process);
  bool name_start(profile::SampleRecord& sample) const;

  static bool key_fits(const Process& process, const profile::SampleRecord& sample);
  static const Plan* plan_of(const Process& process, const profile::SampleRecord& sample);
  static bool name(const Process& process, const Plan& plan, profile::SampleRecord& sample);
  void join(ProcessId id, const Process& process, const Plan& plan, profile::SampleRecord& sample) const;

  std::map<ProcessId, Process> processes_;
  std::map<std::pair<ProcessId, PlanId>, std::set<ExecutionHandle>> runs_of_;
  std::size_t late_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tailor::query
