// Who is at the other end: the kernel's word, made safe against reuse of pids, and the thread ids of its
// world in ours.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

// Field 22 of the text of /proc/PID/stat. The process's name, which may hold anything, is skipped.
Result<std::uint64_t> ParseStartTime(std::string_view stat);

// The thread's ids from the outermost pid namespace to its own, of the text of /proc/PID/task/TID/status.
// `outer` and `inner` are equal for a thread of our own namespace.
struct NamespaceIds {
  std::int32_t outer = 0;
  std::int32_t inner = 0;
};
Result<NamespaceIds> ParseNamespaceIds(std::string_view status);

class PeerProcess {
 public:
  // `proc` is the mount point of procfs. Fails if the process has ended, or is not visible from here (pid 0).
  static Result<PeerProcess> Open(std::string proc, const ucred& credentials);

  const ProcessId& id() const { return id_; }
  std::uint32_t uid() const { return uid_; }
  std::uint32_t gid() const { return gid_; }
  // Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // The thread that has this id in the process's own pid namespace; 0 if there is none (any more).
  std::int32_t TranslateTid(std::uint32_t inner) const;

 private:
  PeerProcess() = default;

  std::string proc_;
  ProcessId id_;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  UniqueFd pidfd_;
  bool own_namespace_ = false;  // it lives in a pid namespace below ours
};

}  // namespace tailor::registration
