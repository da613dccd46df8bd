// The process at the other end, by what the kernel says, made safe against reuse of pids, and the thread ids
// of its world in ours.
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

// What the kernel says of the peer of a UNIX socket. Where it says nothing: process 0, and a user that nobody
// is.
ucred credentials_of(int socket);

class PeerProcess {
 public:
  // `proc` is the mount point of procfs, `credentials` what the kernel says of `socket`'s peer. Fails if the
  // process has ended, is not visible from here (pid 0), or runs as another user than the one who connected.
  //
  // The kernel names the process that connected by SO_PEERPIDFD, from 6.5 on. An older one, or -1 for a
  // socket, names it by its pid alone, which another process may have by now: then the user must be the same.
  static Result<PeerProcess> open(std::string proc, const ucred& credentials, int socket = -1);

  // Whether the pid is still that of this process, as the same user. One that has ended is no error: what it
  // said before counts.
  Status check_again() const;

  const ProcessId& id() const { return id_; }
  std::uint32_t uid() const { return uid_; }
  std::uint32_t gid() const { return gid_; }
  // Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // The thread that has this id in the process's own pid namespace; 0 if there is none (any more).
  std::int32_t translate_tid(std::uint32_t inner);

 private:
  PeerProcess() = default;
  Status open_pidfd(int socket);
  // Of the process that has the pid now.
  struct Seen {
    std::uint64_t start = 0;
    std::string status;  // the text of the file
  };
  Result<Seen> look() const;

  std::string proc_;
  ProcessId id_;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  UniqueFd pidfd_;
  std::optional<ThreadIds> threads_;  // it lives in a pid namespace below ours
};

}  // namespace tailor::registration
