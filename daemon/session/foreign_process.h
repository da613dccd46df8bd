// Speaks for a process that has no agent, but names its generated code in a perf map (/tmp/perf-PID.map).
#pragma once

#include <cstdint>
#include <string>

#include "daemon/os/os.h"
#include "daemon/session/input.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Control thread only.
class ForeignProcess {
 public:
  // Looks for the map in the process's own root, under the pid it has there. A map that is not a regular file
  // of the process's own user is not believed: anybody can write to /tmp.
  ForeignProcess(os::Os& os, ProcessId process);

  // If the map has changed since the last call, says to `input` what an agent would: a plan whose components
  // are the functions, and their code. What was said before ends then, because a perf map has no times and no
  // lasting numbers. Returns how many functions the map named so far; 0: there is none to believe.
  std::size_t tell(Input& input, std::uint64_t tsc);

  const std::string& path() const { return path_; }

 private:
  std::string read_if_changed();

  ProcessId process_;
  std::string path_;
  std::uint32_t uid_ = 0;
  std::uint64_t size_ = 0;  // of the map when it was read
  std::uint64_t generation_ = 0;
  std::size_t functions_ = 0;
};

}  // namespace tailor::session
