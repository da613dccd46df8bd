// CPU time around a recording: what its processes used, what samples stand for, what other hosts of the
// machine took, and what the recorder itself used.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/os/cpu_time.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/records.h"
#include "daemon/session/cpu_coverage.h"

namespace tailor::session {

// Control thread only.
class CpuAccounts {
 public:
  // The recording begins. Both must outlive this.
  CpuAccounts(os::Os& os, pipeline::Pipeline& pipeline);

  // The process is sampled from now on. `user_mode_only`: not in kernel mode.
  void begin(ProcessId process, bool user_mode_only);
  // Its use until now is compared when all its samples up to now have been attributed. One that has
  // ended can be looked at until its parent has waited for it.
  void look(ProcessId process, bool user_mode_only);
  // It is not sampled any more; a look that waits still counts.
  void end(ProcessId process) { coverage_.end(process); }
  // Its use until it begins again is in no account.
  void close(ProcessId process) { coverage_.close(process); }
  // Compares what may be compared now.
  void settle();

  // All that the recorded command and the children that it waited for have used in the end. Children with an
  // agent that still run are added. Where others have samples, it is not known what was used.
  void note_command(const os::CpuTime& used);

  // Writes what is known so far into `recording`.
  void tell(profile::RecordingInfo& recording);
  // Of this program, since the recording began.
  std::uint64_t own_ns() const;

 private:
  std::uint64_t sampled_ns(ProcessId process) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  CpuCoverageOfProcesses coverage_;
  std::optional<os::CpuTime> command_used_;
  bool user_mode_only_ = false;  // some process is sampled so
  std::optional<std::uint64_t> steal_before_;
  std::uint64_t own_before_ = 0;
};

}  // namespace tailor::session
