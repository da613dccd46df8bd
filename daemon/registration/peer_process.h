// Who is at the other end: what the kernel says, made safe against reuse of pids, and the thread ids of its
// world in ours.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/registration/proc_files.h"
#include "daemon/registration/thread_ids.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

class PeerProcess {
 public:
  // `proc` is the mount point of procfs. Fails if the process has ended, or is not visible from here (pid 0).
  static Result<PeerProcess> open(std::string proc, const ucred& credentials);

  const ProcessId& id() const { return id_; }
  std::uint32_t uid() const { return uid_; }
  std::uint32_t gid() const { return gid_; }
  // Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // The thread that has this id in the process's own pid namespace; 0 if there is none (any more).
  std::int32_t translate_tid(std::uint32_t inner);

 private:
  PeerProcess() = default;

  std::string proc_;
  ProcessId id_;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  UniqueFd pidfd_;
  std::optional<ThreadIds> threads_;  // it lives in a pid namespace below ours
};

}  // namespace tailor::registration
