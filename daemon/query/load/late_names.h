// Names of generated code that became known after samples in it had been taken: a perf map that is written
// when its process ends, a jitdump that was found late, code that an agent heard of late itself, a plan that
// it told of late. The samples wait as addresses and tags; this gives them what attribution would have said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/load/late_plans.h"
#include "daemon/query/load/late_spans.h"
#include "proto/base/ids.h"

namespace tailor::query {

// First everything that was said, then questions. One thread.
class LateNames {
 public:
  void on_process(const profile::ProcessRecord& process) { plans_.on_process(process); }
  void on_component(ProcessId process, std::uint32_t id) { plans_.on_component(process, id); }
  void on_unregistered(ProcessId process, TimeNs first) { plans_.on_unregistered(process, first); }
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan);
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code);
  void on_code_unload(ProcessId process, TimeNs time, CodeId code);
  // The process executed another program. What was said so far is of those before, and what follows of this.
  void on_executed(ProcessId process, TimeNs time);
  // One that may have come late itself.
  void on_early_execution(const profile::ExecutionRecord& execution) { plans_.on_execution(execution); }
  // Beside the samples: an execution is told before those of its time.
  void on_execution(const profile::ExecutionRecord& execution);
  bool empty() const { return codes_ == 0 && plans_.empty(); }   // nothing came late
  std::size_t bytes() const { return bytes_ + plans_.bytes(); }  // of memory, about

  // Gives `sample` the name of its address where that has come late. True if it was unattributed and is no
  // longer.
  //
  // Code of a jitdump counts from its load until other code is loaded over it. A perf map has no times: its
  // names count for the whole life of the program, as inferred. Where entries overlap, the one within the
  // other counts, else the later, as perf reads them. Code of an agent counts from its load until its
  // unloading. It takes a sample from an engine component or a caller too, but never from an execution of
  // another plan.
  bool apply(profile::SampleRecord& sample);

  // The code object that held the address, for the frames of call chains. Nothing: none.
  struct CodeAt {
    CodeId id = 0;
    TimeNs loaded = kTimeMin;
  };
  std::optional<CodeAt> code_at(ProcessId process, std::uint64_t address, TimeNs time);
  // Pieces of code that have no name where they should: there are too many at one place, or of one process.
  std::uint64_t left_out() const;
  bool knows(ProcessId process) const { return processes_.contains(process); }
  // Whether any code or plan of the process came late.
  bool came_late(ProcessId process) const;

 private:
  struct Row {
    std::uint32_t offset, link;
    profile::Quality quality;
  };
  struct Code {
    CodeId id = 0;
    PlanId plan = 0;
    TimeNs loaded = kTimeMin, unloaded = kTimeMax;
    TimeNs since = kTimeMin;  // its load; of a perf map, when its program began, as far as anybody saw
    bool of_agent = false, untimed = false;  // untimed: of a perf map
    std::uint64_t begin = 0, end = 0;
    LevelIndex level = 0;
    std::vector<Row> rows;
  };
  struct Process {
    std::vector<Code> codes;
    std::unordered_map<CodeId, std::size_t> last_of;  // of an agent's ids: the last of `codes`
    std::unordered_map<PlanId, LevelIndex> lowest;    // levels of its plans
    std::unordered_map<ExecutionHandle, PlanId> plans;
    LateSpans spans;  // of `codes`; made at the first question
    bool settled = false;
  };

  bool apply_code(profile::SampleRecord& sample);
  static void settle(Process& process);
  // NULL: none.
  const Code* find(ProcessId process, std::uint64_t address, TimeNs time);
  const Code* find_planned(ProcessId process, std::uint64_t address, TimeNs time);
  bool take(const Code& found, std::uint64_t address, profile::How how, profile::SampleRecord& sample);
  bool take_agents(const Code& found, std::uint64_t address, profile::How how, profile::SampleRecord& sample);
  static void name(const Code& code, std::uint64_t address, profile::How how, profile::SampleRecord& sample);
  bool executed_between(ProcessId process, TimeNs since, TimeNs time) const;
  void keep_rows(const v1::CodeObject& code, Code& kept);
  static bool knows_code_of(const Process& process, const profile::Attribution& attribution);

  LatePlans plans_;
  std::map<ProcessId, Process> processes_;
  std::map<ProcessId, std::vector<TimeNs>> programs_;  // when they began, where that was seen
  std::size_t codes_ = 0;
  std::uint64_t refused_ = 0;  // beyond what is kept of one process
  std::size_t bytes_ = 0;
};

}  // namespace tailor::query
