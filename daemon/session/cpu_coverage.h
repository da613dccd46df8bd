// Holds the CPU time that samples stand for against the CPU time that their processes used: what says how
// many samples should have been there, whatever failed to take them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "daemon/os/cpu_time.h"
#include "proto/base/ids.h"

namespace tailor::session {

// In ns: of the sampled processes since each was sampled.
struct CpuCoverage {
  std::uint64_t used = 0, sampled = 0;
  std::uint64_t unsampled = 0;  // used where no sample is taken: not in `used`
};

// What a process used of both. `user_mode_only`: it is not sampled in kernel mode.
inline CpuCoverage used_of(const os::CpuTime& time, bool user_mode_only) {
  if (user_mode_only) return {.used = time.user_ns, .unsampled = time.system_ns};
  return {.used = time.all()};
}

// Samples stand for far more than was used, as chance does not do it: the count of what was used lacks a
// process. (A command's account has the children that were waited for.)
inline bool lacks_a_process(const CpuCoverage& coverage) {
  constexpr std::uint64_t kSlack = 100'000'000;
  return coverage.sampled > coverage.used + coverage.used / 4 + kSlack;
}

// For processes that go on: each is looked at now and then, and what its samples stand for is taken when all
// of them up to that look have been attributed. The use of a process after its last look is on neither side.
// One thread.
class CpuCoverageOfProcesses {
 public:
  // What the process has used, and what its samples stood for, when it began to be sampled. One that is known
  // goes on from where it was.
  void begin(ProcessId process, CpuCoverage before);
  // Looked at: it has used so much by `now` (what was sampled of it does not count here). One that is not
  // known is left alone.
  void look(ProcessId process, TimeNs now, CpuCoverage used);
  // Samples up to `watermark` are attributed; `sampled_of` tells what those of a process stand for so far.
  // Nothing: that is not known any more; what the process used since its look before is on neither side then.
  void settle(TimeNs watermark, const std::function<std::optional<std::uint64_t>(ProcessId)>& sampled_of);
  // It is not sampled any more. A look that waits still counts.
  void end(ProcessId process);

  // Its use from now until it begins again is in no account, even if a look waits: then what it used
  // since the last one that was settled is on neither side.
  void close(ProcessId process);

  CpuCoverage sum() const;

 private:
  struct Process {
    CpuCoverage before, settled;
    CpuCoverage looked;           // used by then
    TimeNs looked_at = kTimeMax;  // kTimeMax: no look waits
    bool over = false;
  };

  std::map<ProcessId, Process> processes_;
  CpuCoverage ended_;
};

}  // namespace tailor::session
