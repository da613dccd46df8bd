#include "daemon/session/host_info.h"

#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include "daemon/os/kernel_identity.h"

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

}  // namespace

const char* const kVersion = TAILOR_VERSION;

profile::RecordingInfo host_info(const os::Os& os) {
  profile::RecordingInfo info;
  utsname names{};
  if (::uname(&names) == 0) info.host = names.nodename;
  const os::KernelIdentity kernel = os::kernel_identity(os.proc(), os.sys());
  info.kernel = kernel.release;
  info.machine = kernel.machine;
  info.boot_id = kernel.boot_id;
  info.kernel_build_id = kernel.build_id;
  info.kernel_anchor = kernel.anchor;
  info.cpu = cpu_model(os);
  info.daemon_version = kVersion;
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  info.wall_clock_ns =
      static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
  return info;
}

}  // namespace tailor::session
