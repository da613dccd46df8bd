// `tailor record -p PID`, where a daemon runs: through it.
#pragma once

#include <cstdint>
#include <string>

namespace tailor::cli {

struct AttachOptions {
  std::int32_t pid = 0;
  std::string output;     // store::open_output()
  bool keep_old = false;  // a file of that name is then called NAME.old
  double seconds = 0;     // 0: until the process ends or SIGINT or SIGTERM comes
};

// Whether a daemon listens.
bool daemon_runs();

// Returns an exit code.
int record_process(const AttachOptions& options);

}  // namespace tailor::cli
