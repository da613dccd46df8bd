#include "daemon/session/process_rules.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "daemon/session/host_info.h"

namespace tailor::session {
namespace {

// The kernel appends it to the path of a program whose file was replaced or removed.
constexpr std::string_view kDeleted = " (deleted)";

bool is_executable(const std::string& wanted, std::string_view path) {
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (wanted.starts_with('/')) return path == wanted;
  return path.substr(path.rfind('/') + 1) == wanted;
}

bool is_below(const std::string& cgroup, std::string_view path) {
  std::string_view wanted = cgroup;
  while (wanted.ends_with('/')) wanted.remove_suffix(1);
  if (!path.starts_with(wanted)) return false;
  return path.size() == wanted.size() || path[wanted.size()] == '/';
}

}  // namespace

std::optional<ProcessFacts> facts_of(const os::Os& os, std::int32_t pid) {
  const std::filesystem::path directory = os.proc() / std::to_string(pid);
  struct stat info{};
  if (::stat(directory.c_str(), &info) != 0) return std::nullopt;
  ProcessFacts facts;
  facts.uid = info.st_uid;
  std::error_code none;
  facts.executable = std::filesystem::read_symlink(directory / "exe", none).string();
  facts.cgroup = cgroup_of(os, pid);
  return facts;
}

bool matches(const ProcessMatch& match, const ProcessFacts& facts) {
  if (match.uid && *match.uid != facts.uid) return false;
  if (!match.executable.empty() && !is_executable(match.executable, facts.executable)) return false;
  return match.cgroup.empty() || is_below(match.cgroup, facts.cgroup);
}

bool is_ignored(const ProcessRules& rules, const ProcessFacts& facts) {
  return std::ranges::any_of(rules.ignore, [&](const ProcessMatch& match) { return matches(match, facts); });
}

const SampleRule* rule_for(const ProcessRules& rules, const ProcessFacts& facts) {
  if (facts.executable.empty() || is_ignored(rules, facts)) return nullptr;
  for (const SampleRule& rule : rules.sample) {
    if (matches(rule.match, facts)) return &rule;
  }
  return nullptr;
}

std::vector<std::int32_t> pids_of_host(const os::Os& os) {
  std::vector<std::int32_t> pids;
  std::error_code gone;
  std::filesystem::directory_iterator each(os.proc(), gone);
  for (; !gone && each != std::filesystem::directory_iterator(); each.increment(gone)) {
    const std::string name = each->path().filename();
    std::int32_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

}  // namespace tailor::session
