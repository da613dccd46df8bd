#include "daemon/registration/peer_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailor::registration {

namespace {

Result<std::uint64_t> ReadStartTime(const std::string& proc, pid_t pid) {
  auto stat = ReadSmallFile(fmt::format("{}/{}/stat", proc, pid));
  if (!stat) return stat.error();
  return ParseStartTime(*stat);
}

}  // namespace

Result<PeerProcess> PeerProcess::Open(std::string proc, const ucred& credentials) {
  if (credentials.pid <= 0) return Error{"the peer's pid namespace is not visible from the daemon's"};
  PeerProcess peer;
  peer.proc_ = std::move(proc);
  peer.uid_ = credentials.uid;
  peer.gid_ = credentials.gid;
  // The pidfd holds on to whoever has the pid now; equal start times before and after say that it is one
  // process.
  auto before = ReadStartTime(peer.proc_, credentials.pid);
  if (!before) return before.error();
  peer.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, credentials.pid, 0)));
  if (!peer.pidfd_)
    return Error{fmt::format("pidfd_open({}): {}", credentials.pid, std::strerror(errno)), errno};
  auto after = ReadStartTime(peer.proc_, credentials.pid);
  if (!after) return after.error();
  if (*before != *after) return Error{fmt::format("process {} ended while it registered", credentials.pid)};
  peer.id_ = {credentials.pid, *after};
  auto status = ReadSmallFile(fmt::format("{}/{}/status", peer.proc_, credentials.pid));
  if (!status) return status.error();
  auto ids = ParseNamespaceIds(*status);
  if (!ids) return ids.error();
  if (ids->outer != ids->inner) peer.threads_.emplace(fmt::format("{}/{}/task", peer.proc_, credentials.pid));
  return peer;
}

std::int32_t PeerProcess::TranslateTid(std::uint32_t inner) {
  if (inner == 0 || inner > INT32_MAX) return 0;
  const auto id = static_cast<std::int32_t>(inner);
  return threads_ ? threads_->outer_of(id, ThreadIds::Clock::now()) : id;
}

}  // namespace tailor::registration
