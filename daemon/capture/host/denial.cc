#include "daemon/capture/host/denial.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/os/host_files.h"
#include "proto/base/errors.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

namespace tailor::capture {
namespace {

// A field of /proc/PID/status, without the blanks around it.
std::optional<std::string> status_field(const os::Os& os, const std::string& who, std::string_view name) {
  auto text = os::read_text(os.proc() / who / "status");
  if (!text) return std::nullopt;
  std::size_t at = text->find(fmt::format("\n{}:", name));
  if (at == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(*text).substr(at + name.size() + 2);
  rest = rest.substr(0, rest.find('\n'));
  std::size_t first = rest.find_first_not_of(" \t");
  return std::string(first == std::string_view::npos ? "" : rest.substr(first));
}

bool has_capability(const os::Os& os, unsigned capability) {
  auto field = status_field(os, "self", "CapEff");
  std::uint64_t bits = 0;
  if (field) std::from_chars(field->data(), field->data() + field->size(), bits, 16);
  return bits >> capability & 1;
}

std::string first_of(const std::optional<std::string>& field) {
  return field ? field->substr(0, field->find_first_of(" \t")) : std::string();
}

// What of the attribute needs a lower perf_event_paranoid, and which.
struct Need {
  std::int64_t level;
  const char* what;
};

Need need_of(const perf_event_attr& attr, pid_t pid) {
  if (pid < 0) return {0, "events of a whole CPU"};
  if (!attr.exclude_kernel) return {1, "samples in kernel mode"};
  return {2, "any event"};
}

std::string explain_permission(const os::Os& os, const perf_event_attr& attr, pid_t pid) {
  auto paranoid = os::read_number(os.proc() / "sys/kernel/perf_event_paranoid");
  if (!paranoid) return "this kernel has no perf events (/proc/sys/kernel/perf_event_paranoid is missing)";
  Need need = need_of(attr, pid);
  bool admin = has_capability(os, CAP_SYS_ADMIN);
  bool perfmon = admin || (has_capability(os, CAP_PERFMON) && *paranoid <= 2);
  if (*paranoid > need.level && !perfmon) {
    return fmt::format(
        "kernel.perf_event_paranoid is {} and {} need at most {}: run 'sysctl "
        "kernel.perf_event_paranoid={}', or "
        "give tailord {}",
        *paranoid, need.what, need.level, need.level,
        *paranoid > 2 ? "CAP_SYS_ADMIN (levels above 2 ignore CAP_PERFMON on some kernels)" : "CAP_PERFMON");
  }
  if (first_of(status_field(os, "self", "Seccomp")) == "2") {
    return "a seccomp filter blocks perf_event_open (container runtimes do by default): allow the call in "
           "the "
           "container's seccomp profile, or start the container with CAP_PERFMON";
  }
  std::string owner = pid > 0 ? first_of(status_field(os, std::to_string(pid), "Uid")) : "";
  if (!owner.empty() && owner != std::to_string(::geteuid())) {
    return fmt::format(
        "process {} belongs to uid {}: run as that user, or give tailord CAP_PERFMON and "
        "CAP_SYS_PTRACE",
        pid, owner);
  }
  return "a security module or the container's limits forbid it: see the kernel log, or try on the host";
}

std::string explain_limit(int code) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (code == ENFILE) return "the system has no file descriptors left: raise fs.file-max";
  return fmt::format(
      "the limit of {} file descriptors is reached (one is needed per thread and CPU): raise it "
      "with 'ulimit -n' or LimitNOFILE=",
      limit.rlim_cur);
}

std::string reason_for(const os::Os& os, int code, const perf_event_attr& attr, pid_t pid) {
  switch (code) {
    case EACCES:
    case EPERM:
      return explain_permission(os, attr, pid);
    case EMFILE:
    case ENFILE:
      return explain_limit(code);
    case ENOSYS:
      return "this kernel, or the container's seccomp profile, has no perf_event_open";
    case ENOENT:
    case ENODEV:
      return "this host has no such event: a virtual machine often has no hardware counters; use cpu-clock";
    case EOPNOTSUPP:
      return "this host's counters cannot sample that precisely, or cannot sample at all: use cpu-clock";
    case ENOSPC:
      return "all counters or breakpoints of that kind are taken: stop other profilers or take fewer events";
    case EBUSY:
      return "another profiler holds the counters exclusively: stop it";
    case EINVAL:
      return "this kernel does not know a field of the request";
    case ESRCH:
      return fmt::format("there is no process {}", pid);
    default:
      return "";
  }
}

}  // namespace

Error explain_open(const os::Os& os, const Error& failure, const perf_event_attr& attr, pid_t pid) {
  std::string reason = reason_for(os, failure.code, attr, pid);
  if (reason.empty()) return failure;
  return os_error(fmt::format("{}: {}", failure.message, reason), failure.code);
}

Error explain_map(const os::Os& os, const Error& failure, std::size_t bytes) {
  if (failure.code != EPERM && failure.code != ENOMEM && failure.code != EAGAIN) return failure;
  auto quota = os::read_number(os.proc() / "sys/kernel/perf_event_mlock_kb");
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  std::string allowed =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} KiB", limit.rlim_cur >> 10);
  return os_error(
      fmt::format("{}: a ring of {} KiB exceeds kernel.perf_event_mlock_kb ({} a CPU) and RLIMIT_MEMLOCK "
                  "({}): raise one of them, give tailord CAP_IPC_LOCK, or take smaller rings",
                  failure.message, bytes >> 10, quota ? fmt::format("{} KiB", *quota) : "unknown", allowed),
      failure.code);
}

}  // namespace tailor::capture
