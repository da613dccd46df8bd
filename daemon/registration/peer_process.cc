#include "daemon/registration/peer_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

namespace tailor::registration {

namespace {

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The word before the next blank, which it takes away from `text`.
std::string_view Word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

Result<std::string> ReadSmallFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error{fmt::format("{}: {}", path, std::strerror(errno)), errno};
  std::string text(16 * 1024, '\0');
  ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno)), errno};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::uint64_t> ReadStartTime(const std::string& proc, pid_t pid) {
  auto stat = ReadSmallFile(fmt::format("{}/{}/stat", proc, pid));
  if (!stat) return stat.error();
  return ParseStartTime(*stat);
}

}  // namespace

Result<std::uint64_t> ParseStartTime(std::string_view stat) {
  auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return Error{"/proc/PID/stat without a name"};
  stat.remove_prefix(end_of_name + 1);
  constexpr int kFieldAfterName = 3;
  constexpr int kStartTime = 22;
  for (int field = kFieldAfterName; field < kStartTime; ++field) Word(stat);
  auto start = Number<std::uint64_t>(Word(stat));
  if (!start) return Error{"/proc/PID/stat without a start time"};
  return *start;
}

Result<NamespaceIds> ParseNamespaceIds(std::string_view status) {
  constexpr std::string_view kKey = "\nNSpid:";
  auto at = status.find(kKey);
  if (at == std::string_view::npos) return Error{"/proc/PID/status without NSpid"};
  std::string_view line = status.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  NamespaceIds ids;
  for (std::string_view word = Word(line); !word.empty(); word = Word(line)) {
    auto id = Number<std::int32_t>(word);
    if (!id || *id <= 0) return Error{"/proc/PID/status with a strange NSpid"};
    if (ids.outer == 0) ids.outer = *id;
    ids.inner = *id;
  }
  if (ids.outer == 0) return Error{"/proc/PID/status with an empty NSpid"};
  return ids;
}

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
  peer.own_namespace_ = ids->outer != ids->inner;
  return peer;
}

std::int32_t PeerProcess::TranslateTid(std::uint32_t inner) const {
  if (inner == 0 || inner > INT32_MAX) return 0;
  if (!own_namespace_) return static_cast<std::int32_t>(inner);
  std::string tasks = fmt::format("{}/{}/task", proc_, id_.pid);
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(tasks.c_str()), ::closedir);
  if (!directory) return 0;
  while (dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    auto status = ReadSmallFile(fmt::format("{}/{}/status", tasks, entry->d_name));
    if (!status) continue;
    auto ids = ParseNamespaceIds(*status);
    if (ids && ids->inner == static_cast<std::int32_t>(inner)) return ids->outer;
  }
  return 0;
}

}  // namespace tailor::registration
