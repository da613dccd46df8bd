// All processes of a recording that have no agent: what perf's conventions say of their code.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/foreign_process.h"
#include "daemon/session/process_rules.h"

namespace tailor::session {

// Control thread only.
class ForeignProcesses {
 public:
  // All must outlive this.
  ForeignProcesses(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input)
      : os_(os), pipeline_(pipeline), input_(input) {}

  // Speaks for the process from now on, unless that is done already.
  void add(ProcessId process, NamesFrom names);
  // For the user: where its names come from; "" where nobody speaks for it.
  std::string source_of(ProcessId process) const;

  struct Moment {
    bool follows_children = false;              // children of sampled processes are sampled too
    bool ending = false;                        // the recording ends: what runtimes wrote at their end counts
    bool all_read = false;                      // and everything was read
    std::function<bool(ProcessId)> is_sampled;  // or is to be again
  };
  // Says what is known, up to now.
  void tell(const Moment& moment);

 private:
  void adopt_children();
  bool is_over(ProcessId process, const Moment& moment) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  pipeline::Input& input_;
  // A pid may be another process's later, and a process may execute another program.
  struct Followed {
    ForeignProcess process;
    std::uint64_t number = 0;  // of its entry in the pipeline, 0: it has none yet
    std::uint32_t executed = 0;
  };
  static bool follow(Followed& followed, const pipeline::ProcessEntry* entry);
  std::map<ProcessId, Followed> processes_;
  std::set<std::pair<ProcessId, std::uint64_t>> spoken_for_;  // to their end, with their numbers
};

}  // namespace tailor::session
