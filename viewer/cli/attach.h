// `tailor record -p PID`: through the daemon.
#pragma once

#include <cstdint>
#include <string>

namespace tailor::cli {

struct AttachOptions {
  std::int32_t pid = 0;
  std::string output;
  double seconds = 0;  // 0: until the process ends or SIGINT or SIGTERM comes
};

// Returns an exit code.
int record_process(const AttachOptions& options);

}  // namespace tailor::cli
