#include "daemon/os/host_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>

#include "proto/base/errors.h"

namespace tailor::os {
namespace {

template <typename T>
bool parse_whole(std::string_view text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    int code = errno;
    return os_error(fmt::format("{}: {}", path.string(), std::strerror(code)), code);
  }
  // Nearly all of these files are short, and some are read again and again.
  constexpr std::size_t kFirst = 4096;
  std::string text;
  std::size_t got = 0;
  while (file && got <= limit) {
    text.resize(std::min(std::max(kFirst, 2 * text.size()), limit + 1));
    file.read(text.data() + got, static_cast<std::streamsize>(text.size() - got));
    if (file.bad()) return os_error(fmt::format("{}: cannot be read", path.string()), EIO);
    got += static_cast<std::size_t>(file.gcount());
  }
  text.resize(got);
  if (text.size() > limit)
    return os_error(fmt::format("{} is larger than {} bytes", path.string(), limit), EFBIG);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<std::int64_t> read_number(const std::filesystem::path& path) {
  auto text = read_text(path, 64);
  std::int64_t value = 0;
  if (!text || !parse_whole(*text, value)) return std::nullopt;
  return value;
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  constexpr int kMostCpus = 1 << 16;
  std::vector<int> cpus;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    std::size_t dash = part.find('-');
    int first = 0;
    bool valid = parse_whole(part.substr(0, dash), first);
    int last = first;
    if (dash != std::string_view::npos) valid = valid && parse_whole(part.substr(dash + 1), last);
    if (!valid || first < 0 || last < first || last >= kMostCpus) {
      return internal(fmt::format("'{}' is not a list of CPUs", text));
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Result<std::vector<int>> online_cpus(const Os& os) {
  auto text = read_text(os.sys() / "devices/system/cpu/online");
  if (!text) return text.error();
  auto cpus = parse_cpu_list(*text);
  if (cpus && cpus->empty()) return internal("the list of online CPUs is empty");
  return cpus;
}

Result<std::vector<pid_t>> threads_of(const Os& os, pid_t pid) {
  std::error_code error;
  auto path = os.proc() / std::to_string(pid) / "task";
  std::filesystem::directory_iterator entries(path, error);
  if (error)
    return os_error(fmt::format("no process {}: {}: {}", pid, path.string(), error.message()), error.value());
  std::vector<pid_t> threads;
  // The directory changes while it is read; an error in the middle only ends the list.
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    pid_t tid = 0;
    if (parse_whole(std::string_view(entries->path().filename().native()), tid)) threads.push_back(tid);
  }
  std::ranges::sort(threads);
  return threads;
}

std::optional<std::uint32_t> owner_of(const std::filesystem::path& process) {
  struct stat facts{};
  if (::stat(process.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_uid;
}

std::vector<pid_t> family_of(const Os& os, const std::vector<pid_t>& roots) {
  std::set<pid_t> family(roots.begin(), roots.end());
  std::vector<pid_t> waiting(family.begin(), family.end());
  while (!waiting.empty()) {
    const pid_t pid = waiting.back();
    waiting.pop_back();
    auto threads = threads_of(os, pid);
    if (!threads) {
      family.erase(pid);
      continue;
    }
    for (pid_t tid : *threads) {
      auto path = os.proc() / std::to_string(pid) / "task" / std::to_string(tid) / "children";
      std::ifstream children(path);
      for (pid_t child = 0; children >> child;) {
        if (family.insert(child).second) waiting.push_back(child);
      }
    }
  }
  return {family.begin(), family.end()};
}

namespace {

// Field `wanted`, from 3 on, of what a file like /proc/PID/stat says.
Result<std::string> field_of(std::string_view rest, const std::filesystem::path& path, int wanted) {
  // The name, field 2, may hold spaces and parentheses: fields are counted from its last parenthesis.
  std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos) return internal(fmt::format("{} has no name", path.string()));
  rest.remove_prefix(name_end + 1);
  for (int field = 3; field <= wanted; ++field) {
    if (rest.empty() || rest.front() != ' ') break;
    rest.remove_prefix(1);
    std::string_view found = rest.substr(0, rest.find(' '));
    if (field == wanted) return std::string(found);
    rest.remove_prefix(found.size());
  }
  return internal(fmt::format("{} has no field {}", path.string(), wanted));
}

Result<std::string> stat_text(const std::filesystem::path& path, int wanted) {
  auto text = read_text(path);
  if (!text) return text.error();
  return field_of(*text, path, wanted);
}

Result<std::uint64_t> number_of(std::string_view text, const std::filesystem::path& path, int wanted) {
  auto found = field_of(text, path, wanted);
  if (!found) return found.error();
  std::uint64_t value = 0;
  if (parse_whole(std::string_view(*found), value)) return value;
  return internal(fmt::format("{} has no number in field {}", path.string(), wanted));
}

Result<CpuTime> cpu_time_in(std::string_view text, const std::filesystem::path& path) {
  auto user = number_of(text, path, 14);
  if (!user) return user.error();
  auto system = number_of(text, path, 15);
  if (!system) return system.error();
  const std::uint64_t tick = 1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return CpuTime{*user * tick, *system * tick};
}

std::filesystem::path stat_of(const Os& os, pid_t pid) {
  return os.proc() / std::to_string(pid) / "stat";
}

}  // namespace

std::vector<int> busy_cpus_of(const Os& os, pid_t pid) {
  std::vector<int> cpus;
  auto threads = threads_of(os, pid);
  if (!threads) return cpus;
  for (pid_t tid : *threads) {
    const auto path = os.proc() / std::to_string(pid) / "task" / std::to_string(tid) / "stat";
    auto state = stat_text(path, 3);
    auto cpu = stat_text(path, 39);
    int number = 0;
    if (state && *state == "R" && cpu && parse_whole(std::string_view(*cpu), number)) cpus.push_back(number);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Result<CpuTime> cpu_time_of(const Os& os, pid_t pid) {
  const auto path = stat_of(os, pid);
  auto text = read_text(path);
  if (!text) return text.error();
  return cpu_time_in(*text, path);
}

Result<CpuTime> cpu_time_of(const Os& os, ProcessId process) {
  const auto path = stat_of(os, process.pid);
  auto text = read_text(path);
  if (!text) return text.error();
  auto start = number_of(*text, path, 22);
  if (!start) return start.error();
  if (*start != process.start) return not_found(fmt::format("process {} has ended", process.pid));
  return cpu_time_in(*text, path);
}

std::optional<std::uint64_t> steal_time(const Os& os) {
  std::ifstream stat(os.proc() / "stat");
  std::string name;
  std::uint64_t ticks = 0;
  stat >> name;
  for (int column = 0; column < 8; ++column) stat >> ticks;  // the last one: steal
  if (!stat || name != "cpu") return std::nullopt;
  return ticks * (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

Result<std::uint64_t> start_time_of(const Os& os, pid_t pid) {
  const auto path = stat_of(os, pid);
  auto text = read_text(path);
  if (!text) return text.error();
  return number_of(*text, path, 22);
}

bool has_memory(const Os& os, ProcessId process) {
  const auto path = stat_of(os, process.pid);
  const auto text = read_text(path);
  if (!text) return false;
  const auto start = number_of(*text, path, 22), size = number_of(*text, path, 23);
  return start.ok() && size.ok() && (process.start == 0 || *start == process.start) && *size > 0;
}

pid_t process_of(const Os& os, pid_t thread) {
  constexpr std::string_view kKey = "\nTgid:";
  const auto status = read_text(os.proc() / std::to_string(thread) / "status");
  const std::size_t at = status ? status->find(kKey) : std::string::npos;
  if (at == std::string::npos) return thread;
  std::string_view text = std::string_view(*status).substr(at + kKey.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  pid_t process = 0;
  std::from_chars(text.data(), text.data() + text.size(), process);
  return process > 0 ? process : thread;
}

Result<ProcessId> identify(const Os& os, pid_t pid) {
  std::error_code gone;
  if (!std::filesystem::exists(os.proc() / std::to_string(pid), gone))
    return not_found(fmt::format("there is no process {}", pid));
  auto start = start_time_of(os, pid);
  if (!start) return start.error();
  return ProcessId{pid, *start};
}

}  // namespace tailor::os
