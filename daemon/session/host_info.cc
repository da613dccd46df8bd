#include "daemon/session/host_info.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>

#include "daemon/registration/peer_process.h"

namespace tailor::session {
namespace {

std::string cpu_model(const os::Os& os) {
  std::ifstream info(os.proc() / "cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const std::size_t value = line.find(": ");
      return value == std::string::npos ? std::string() : line.substr(value + 2);
    }
  }
  return {};
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

store::RecordingInfo host_info(const os::Os& os) {
  store::RecordingInfo info;
  utsname names{};
  if (::uname(&names) == 0) {
    info.host = names.nodename;
    info.kernel = names.release;
  }
  info.cpu = cpu_model(os);
  info.daemon_version = kVersion;
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  info.wall_clock_ns =
      static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
  return info;
}

std::string comm_of(const os::Os& os, std::int32_t pid) {
  std::string name = content(os.proc() / std::to_string(pid) / "comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

std::string cgroup_of(const os::Os& os, std::int32_t pid) {
  constexpr std::string_view kUnified = "0::";
  std::istringstream lines(content(os.proc() / std::to_string(pid) / "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
  }
  return {};
}

Result<ProcessId> identify(const os::Os& os, std::int32_t pid) {
  const std::string stat = content(os.proc() / std::to_string(pid) / "stat");
  if (stat.empty()) return Error{fmt::format("there is no process {}", pid)};
  auto start = registration::ParseStartTime(stat);
  if (!start.ok()) return start.error();
  return ProcessId{pid, *start};
}

}  // namespace tailor::session
