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

// SO_PEERPIDFD, which older headers do not have.
constexpr int kPeerPidfd = 77;

Result<std::uint64_t> read_start_time(const std::string& proc, pid_t pid) {
  auto stat = read_small_file(fmt::format("{}/{}/stat", proc, pid));
  if (!stat) return stat.error();
  return parse_start_time(*stat);
}

// Fails where the process of `pidfd` is gone as a whole; one that has ended but was not waited for is not.
Status has_its_pid(int pidfd, pid_t pid) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno != ESRCH) return Ok{};
  return not_found(fmt::format("process {} ended while it registered", pid));
}

}  // namespace

ucred credentials_of(int socket) {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {0, kNobody, kNobody};
  return credentials;
}

Status PeerProcess::open_pidfd(int socket) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (socket >= 0 && ::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &size) == 0) {
    pidfd_.reset(fd);
    return Ok{};
  }
  const bool too_old = socket < 0 || errno == ENOPROTOOPT;
  if (!too_old)
    return os_error(
        fmt::format("process {} cannot be named (SO_PEERPIDFD): {}", id_.pid, std::strerror(errno)), errno);
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, id_.pid, 0)));
  if (!pidfd_) return os_error(fmt::format("pidfd_open({}): {}", id_.pid, std::strerror(errno)), errno);
  return Ok{};
}

Result<PeerProcess::Seen> PeerProcess::look() const {
  auto start = read_start_time(proc_, id_.pid);
  if (!start) return start.error();
  auto status = read_small_file(fmt::format("{}/{}/status", proc_, id_.pid));
  if (!status) return status.error();
  auto user = parse_effective_uid(*status);
  if (!user) return user.error();
  // A process may leave root's rights; no other user's process may be taken for root's.
  if (*user != uid_ && uid_ != 0) {
    return denied(
        fmt::format("process {} runs as user {}, but user {} connected: it executed a program of "
                    "another user, or another process has its number now",
                    id_.pid, *user, uid_));
  }
  return Seen{*start, std::move(*status)};
}

Result<PeerProcess> PeerProcess::open(std::string proc, const ucred& credentials, int socket) {
  if (credentials.pid <= 0) return internal("the peer's pid namespace is not visible from the daemon's");
  PeerProcess peer;
  peer.proc_ = std::move(proc);
  peer.uid_ = credentials.uid;
  peer.gid_ = credentials.gid;
  peer.id_.pid = credentials.pid;
  auto before = read_start_time(peer.proc_, credentials.pid);
  if (!before) return before.error();
  if (Status opened = peer.open_pidfd(socket); !opened) return opened.error();
  // A process that still has its pid had it all the time: what was read in between is its own.
  auto seen = peer.look();
  if (!seen) return seen.error();
  if (*before != seen->start)
    return not_found(fmt::format("process {} ended while it registered", credentials.pid));
  if (Status there = has_its_pid(peer.pidfd(), credentials.pid); !there) return there.error();
  peer.id_.start = seen->start;
  auto ids = parse_namespace_ids(seen->status);
  if (!ids) return ids.error();
  if (ids->outer != ids->inner) peer.threads_.emplace(fmt::format("{}/{}/task", peer.proc_, credentials.pid));
  return peer;
}

Status PeerProcess::check_again() const {
  auto seen = look();
  if (!seen && (seen.error().code == ENOENT || seen.error().code == ESRCH)) return Ok{};
  if (!seen) return seen.error();
  if (seen->start == id_.start) return Ok{};
  return not_found(
      fmt::format("process {} ended before it registered: another one has its number now", id_.pid));
}

std::int32_t PeerProcess::translate_tid(std::uint32_t inner) {
  if (inner == 0 || inner > INT32_MAX) return 0;
  const auto id = static_cast<std::int32_t>(inner);
  return threads_ ? threads_->outer_of(id, ThreadIds::Clock::now()) : id;
}

}  // namespace tailor::registration
