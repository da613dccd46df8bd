#include "daemon/tailord/rights.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <linux/capability.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "daemon/tailord/prepared.h"
#include "daemon/tailord/web.h"

namespace tailor::tailord {
namespace {

using os::capability;

struct Named {
  int number;
  const char* name;
};
constexpr Named kNamed[] = {{CAP_PERFMON, "CAP_PERFMON"},
                            {CAP_BPF, "CAP_BPF"},
                            {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
                            {CAP_SYSLOG, "CAP_SYSLOG"},
                            {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE"},
                            {CAP_IPC_LOCK, "CAP_IPC_LOCK"},
                            {CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"},
                            {CAP_CHOWN, "CAP_CHOWN"},
                            {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
                            {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};

// Those of the unit, and CAP_CHECKPOINT_RESTORE: it opens the files that engines have mapped
// (/proc/PID/map_files), also where they were removed, and below folders that are closed to others.
constexpr os::Capabilities kAlways = capability(CAP_PERFMON) | capability(CAP_BPF) |
                                     capability(CAP_SYS_PTRACE) | capability(CAP_SYSLOG) |
                                     capability(CAP_CHECKPOINT_RESTORE);
constexpr int kFirstFreePort = 1024;

// As LimitMEMLOCK= of the unit: rings are locked memory.
bool lock_any_memory() {
  const rlimit any{RLIM_INFINITY, RLIM_INFINITY};
  rlimit limit{};
  if (::setrlimit(RLIMIT_MEMLOCK, &any) == 0) return true;
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

bool binds_low_port(const WebOptions& web) {
  const auto http = http_options(web);
  if (!http.ok()) return false;  // it is said when it is to listen
  return std::ranges::any_of(http->listeners, [](const serve::Listener& each) {
    return each.unix_path.empty() && each.port > 0 && each.port < kFirstFreePort;
  });
}

// A process that is in a group may give its own files to the group.
bool join_group(const std::string& name) {
  if (name.empty()) return true;
  const auto wanted = group_id(name);
  if (!wanted) return true;  // it is said when the socket is made
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgroups(count, groups.data()) != count) return false;
  if (*wanted == ::getegid() || std::ranges::find(groups, *wanted) != groups.end()) return true;
  groups.push_back(*wanted);
  return ::setgroups(groups.size(), groups.data()) == 0;
}

// Whether this thread may sample anything at all. Kernels of some distributions deny it to all but
// CAP_SYS_ADMIN where kernel.perf_event_paranoid is above 2.
bool is_denied_perf(os::Os& os) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.disabled = 1;
  const auto opened = os.perf_event_open(attr, 0, -1, -1, 0);
  return !opened.ok() && (opened.error().code == EACCES || opened.error().code == EPERM);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder.empty() ? "." : folder;
}

// By what this thread may do now. Of a folder that is not there the one above counts: root makes it, and it
// is root's.
bool is_closed(std::filesystem::path path, int how) {
  while (true) {
    if (::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0) return false;
    if (errno == EACCES) return true;
    const std::filesystem::path above = folder_of(path);
    if (errno != ENOENT || above == path) return false;  // not a matter of rights
    path = above;
  }
}

std::vector<std::string> closed_places(const Options& options) {
  std::vector<std::string> closed;
  const auto look = [&](const std::filesystem::path& path, int how) {
    if (is_closed(path, how)) closed.push_back(path);
  };
  look(options.store, W_OK | X_OK);
  for (const std::string* file :
       {&options.agent_socket, &options.control_socket, &options.web.socket, &options.journal}) {
    if (!file->empty()) look(folder_of(*file), W_OK | X_OK);
  }
  return closed;
}

// What does not work without a right is found by trying it without.
RightsFacts facts_of(os::Os& os, const Options& options, os::Capabilities permitted) {
  RightsFacts facts;
  facts.locks_any_memory = lock_any_memory();
  facts.binds_low_port = binds_low_port(options.web);
  facts.is_in_socket_group = join_group(options.socket_group);
  if (!os::set_effective_capabilities(kAlways).ok()) return facts;
  if ((permitted & capability(CAP_DAC_OVERRIDE)) != 0) facts.foreign_places = closed_places(options);
  const bool denied = is_denied_perf(os);
  (void)os::set_effective_capabilities(permitted);
  facts.perf_is_for_admins = denied && !is_denied_perf(os);
  return facts;
}

}  // namespace

KeptRights rights_to_keep(const RightsFacts& facts) {
  KeptRights kept{kAlways, {}};
  if (!facts.locks_any_memory) kept.all |= capability(CAP_IPC_LOCK);
  if (facts.binds_low_port) kept.all |= capability(CAP_NET_BIND_SERVICE);
  if (!facts.is_in_socket_group) kept.all |= capability(CAP_CHOWN);
  if (!facts.foreign_places.empty()) {
    kept.all |= capability(CAP_DAC_OVERRIDE);
    kept.because.push_back(
        fmt::format("CAP_DAC_OVERRIDE is kept, because these places are closed to root without it: {}. Name "
                    "others, or give them to root",
                    fmt::join(facts.foreign_places, ", ")));
  }
  if (facts.perf_is_for_admins) {
    kept.all |= capability(CAP_SYS_ADMIN);
    kept.because.emplace_back(
        "CAP_SYS_ADMIN is kept, because this kernel denies perf without it: it is given up where "
        "kernel.perf_event_paranoid is 2 or less");
  }
  return kept;
}

std::string names_of(os::Capabilities rights) {
  std::vector<std::string> names;
  for (const Named& each : kNamed) {
    if ((rights & capability(each.number)) != 0) names.emplace_back(each.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

RightsNews give_up_rights(os::Os& os, const Options& options) {
  if (::geteuid() != 0) return {};
  const auto permitted = os::permitted_capabilities();
  if (!permitted.ok()) return {{"the rights of root stay: " + permitted.error().message}, ""};
  const KeptRights kept = rights_to_keep(facts_of(os, options, *permitted));
  RightsNews news;
  if (Status gone = os::keep_capabilities(kept.all); !gone.ok())
    news.warnings.push_back("not all rights of root could be given up: " + gone.error().message);
  news.warnings.insert(news.warnings.end(), kept.because.begin(), kept.because.end());
  news.kept = "of the capabilities of root tailord keeps " + names_of(kept.all & *permitted);
  return news;
}

void tell(const RightsNews& news) {
  for (const std::string& each : news.warnings) spdlog::warn("{}", each);
  if (!news.kept.empty()) spdlog::info("{}", news.kept);
}

}  // namespace tailor::tailord
