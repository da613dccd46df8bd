#include "daemon/registration/peer_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"

namespace tailor::registration {

namespace {

Result<std::uint64_t> read_start_time(const std::string& proc, pid_t pid) {
  auto stat = read_small_file(fmt::format("{}/{}/stat", proc, pid));
  if (!stat) return stat.error();
  return parse_start_time(*stat);
}

}  // namespace

Result<PeerProcess> PeerProcess::open(std::string proc, const ucred& credentials) {
  if (credentials.pid <= 0) return internal("the peer's pid namespace is not visible from the daemon's");
  PeerProcess peer;
  peer.proc_ = std::move(proc);
  peer.uid_ = credentials.uid;
  peer.gid_ = credentials.gid;
  // The pidfd holds on to whoever has the pid now; equal start times before and after say that it is one
  // process.
  auto before = read_start_time(peer.proc_, credentials.pid);
  if (!before) return before.error();
  peer.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, credentials.pid, 0)));
  if (!peer.pidfd_)
    return os_error(fmt::format("pidfd_open({}): {}", credentials.pid, std::strerror(errno)), errno);
  auto after = read_start_time(peer.proc_, credentials.pid);
  if (!after) return after.error();
  if (*before != *after)
    return not_found(fmt::format("process {} ended while it registered", credentials.pid));
  peer.id_ = {credentials.pid, *after};
  auto status = read_small_file(fmt::format("{}/{}/status", peer.proc_, credentials.pid));
  if (!status) return status.error();
  auto ids = parse_namespace_ids(*status);
  if (!ids) return ids.error();
  if (ids->outer != ids->inner) peer.threads_.emplace(fmt::format("{}/{}/task", peer.proc_, credentials.pid));
  return peer;
}

std::int32_t PeerProcess::translate_tid(std::uint32_t inner) {
  if (inner == 0 || inner > INT32_MAX) return 0;
  const auto id = static_cast<std::int32_t>(inner);
  return threads_ ? threads_->outer_of(id, ThreadIds::Clock::now()) : id;
}

}  // namespace tailor::registration
