// The processes that are not sampled because somebody asked for that, and how they are to go on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/pauses.h"
#include "daemon/session/process_sampling.h"
#include "daemon/session/recording_facts.h"
#include "daemon/session/sampled_processes.h"
#include "proto/base/result.h"

namespace tailor::session {

struct Resumed {
  std::vector<ProcessId> processes;
  std::vector<std::string> problems;  // why others cannot be sampled
};

// Control thread only.
class PausedProcesses {
 public:
  // `capture`: of a process that registers while all are paused. All must outlive this.
  PausedProcesses(os::Os& os, CpuAccounts& cpu, RecordingFacts& facts, SampledProcesses& sampled,
                  const capture::CaptureOptions& capture)
      : os_(os), cpu_(cpu), facts_(facts), sampled_(sampled), capture_(capture) {}

  // Closes the events of the process of that number, or of all (nothing): also of those that come later.
  // Gives those that were sampled until now. Fails if the process is not sampled.
  Result<std::vector<ProcessId>> pause(std::optional<std::int32_t> pid);
  // Whether events are still to hand over what they hold.
  bool is_closing() const;
  // They have: the pause is from then on.
  void closed(const ProcessSampling& before, TimeNs time);
  // Goes on with the one, or with all. `ignored`: why a process must not be sampled, "" if it may. Fails if
  // the process is not paused.
  Result<Resumed> resume(std::optional<std::int32_t> pid,
                         const std::function<std::string(ProcessId)>& ignored);

  // A process that would be sampled now is paused, if all are. Why it is not sampled; "" if it may be.
  std::string pause_if_all_are(ProcessId process);
  // It ended, or nobody wants it to go on.
  void forget(ProcessId process);

  bool all() const { return pauses_.all(); }
  bool contains(ProcessId process) const {
    return sampled_.states().state(process) == SamplingState::kPaused;
  }
  // Whether it is paused, and was sampled on request.
  bool is_on_request(ProcessId process) const;
  const Pauses& pauses() const { return pauses_; }

 private:
  // The one of that number, or all.
  std::vector<ProcessId> paused_of(std::optional<std::int32_t> pid) const;
  void go_on(ProcessId process, const std::function<std::string(ProcessId)>& ignored, Resumed& resumed);

  os::Os& os_;
  CpuAccounts& cpu_;
  RecordingFacts& facts_;
  SampledProcesses& sampled_;
  const capture::CaptureOptions& capture_;
  Pauses pauses_;
};

}  // namespace tailor::session
