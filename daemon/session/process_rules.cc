#include "daemon/session/process_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "daemon/session/known_process.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {
namespace {

// The kernel appends it to the path of a program whose file was replaced or removed.
constexpr std::string_view kDeleted = " (deleted)";

// Of a command line that somebody made to be long.
constexpr std::size_t kMostArguments = 4096;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_called(const std::string& wanted, std::string_view path) {
  return wanted.starts_with('/') ? path == wanted : file_name(path) == wanted;
}

bool is_executable(const std::string& wanted, const ProcessFacts& facts) {
  std::string_view path = facts.executable;
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (is_called(wanted, path)) return true;
  if (std::ranges::any_of(facts.called, [&](const std::string& each) { return is_called(wanted, each); }))
    return true;
  return wanted.starts_with('/') && facts.leads_to_executable && facts.leads_to_executable(wanted);
}

// The beginning of a file. Strangers say its name: it is looked at before it is opened, because to open a
// device may do something.
std::string beginning_of(const std::filesystem::path& path, std::size_t most) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!place || ::fstat(place.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::string again = "/proc/self/fd/" + std::to_string(place.get());
  const UniqueFd fd(::open(again.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return {};
  std::string bytes(most, '\0');
  const ssize_t got = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

std::vector<std::string> arguments_of(const std::filesystem::path& process) {
  // The size of such a file is 0: it is read until its end, or until enough was read.
  const UniqueFd fd(::open((process / "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(kMostArguments, '\0');
  const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

// The dynamic linker as a command: ld-linux-x86-64.so.2, ld-2.31.so, ld.so, ld-musl-x86_64.so.1.
bool is_dynamic_linker(std::string_view executable) {
  const std::string_view name = file_name(executable);
  return name == "ld.so" || (name.starts_with("ld-") && name.find(".so") != std::string_view::npos);
}

// Whether the file begins with "#!" and names there what runs it. So an editor that has a script open is not
// the script.
bool is_script_of(const std::filesystem::path& process, const std::string& argument,
                  std::string_view interpreter, std::string_view executable) {
  constexpr std::size_t kFirstLine = 256;
  const std::filesystem::path file =
      argument.starts_with('/') ? process / ("root" + argument) : process / "cwd" / argument;
  std::string line = beginning_of(file, kFirstLine);
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("#!")) return false;
  const auto names = [&](std::string_view name) {
    return !name.empty() && line.find(name) != std::string::npos;
  };
  return names(file_name(interpreter)) || names(file_name(executable));
}

std::vector<std::string> names_of(const std::filesystem::path& process, const std::string& executable) {
  const std::vector<std::string> arguments = arguments_of(process);
  if (executable.empty() || arguments.empty()) return {};
  std::vector<std::string> names = {arguments.front()};
  const auto program = std::find_if(arguments.begin() + 1, arguments.end(),
                                    [](const std::string& each) { return !each.starts_with('-'); });
  if (program == arguments.end()) return names;
  if (is_dynamic_linker(executable) || is_script_of(process, *program, arguments.front(), executable))
    names.push_back(*program);
  return names;
}

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  struct stat first{}, second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
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
  facts.cgroup = cgroup_of(os.proc(), pid);
  facts.called = names_of(directory, facts.executable);
  facts.leads_to_executable = [directory](const std::string& path) {
    return same_file(directory / ("root" + path), directory / "exe");
  };
  return facts;
}

bool matches(const ProcessMatch& match, const ProcessFacts& facts) {
  if (match.uid && *match.uid != facts.uid) return false;
  if (!match.executable.empty() && !is_executable(match.executable, facts)) return false;
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
