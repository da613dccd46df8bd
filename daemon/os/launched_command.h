// A command that is there but has not begun: so that events can be opened on it before its first instruction.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::os {

// Forks at launch() and executes at start(). A command that was never started is killed and reaped by the
// destructor; one that was started is the caller's to wait for (pid()). Not thread-safe.
class LaunchedCommand {
 public:
  // Where its standard output goes: to ours, or to our standard error because ours is taken.
  enum class Prints : unsigned char { kAsWe, kOnStandardError };

  // `argv[0]` is looked up in PATH. `environment` ("NAME=value") takes the place of what
  // our own says of that name.
  static Result<LaunchedCommand> launch(const std::vector<std::string>& argv,
                                        const std::vector<std::string>& environment = {},
                                        Prints prints = Prints::kAsWe);

  LaunchedCommand(LaunchedCommand&& other) noexcept;
  LaunchedCommand& operator=(LaunchedCommand&&) = delete;
  ~LaunchedCommand();

  pid_t pid() const { return pid_; }

  // Lets it execute. Fails with exec's own error ("no such file"), and then the child is gone.
  Status start();

 private:
  LaunchedCommand(pid_t pid, std::string name, UniqueFd go, UniqueFd failure)
      : pid_(pid), name_(std::move(name)), go_(std::move(go)), failure_(std::move(failure)) {}

  pid_t pid_ = -1;
  std::string name_;  // of the command, as it was given
  UniqueFd go_;       // a byte lets the child go on
  UniqueFd failure_;  // gives exec's errno, or ends when exec succeeded
};

}  // namespace tailor::os
