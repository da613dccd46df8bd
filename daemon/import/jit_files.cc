#include "daemon/import/jit_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "proto/base/errors.h"

namespace tailor::importer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

std::size_t JitFile::read_at(std::uint64_t offset, std::span<char> to) const {
  std::size_t got = 0;
  while (got < to.size()) {
    const ssize_t n = ::pread(file.get(), to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

Result<JitFile> open_jit_file(const std::string& path, const Owners* owners) {
  JitFile out;
  out.file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!out.file && errno == ELOOP) return invalid("it is a symbolic link, which is not followed");
  if (!out.file && errno == ENOENT) return not_found("it is not there");
  if (!out.file) return os_error(std::strerror(errno), errno);
  struct stat info{};
  if (::fstat(out.file.get(), &info) != 0) return os_error(std::strerror(errno), errno);
  if (!S_ISREG(info.st_mode)) return invalid("it is no regular file");
  if (owners != nullptr && !owners->contains(info.st_uid))
    return invalid(
        fmt::format("it belongs to user {}, who is neither root, nor who runs this, nor known to be the "
                    "process's: anybody can write names there",
                    info.st_uid));
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.written_ns = ns_of(info.st_mtim);
  out.device = info.st_dev;
  out.inode = info.st_ino;
  return out;
}

Owners common_owners() {
  return {0, ::geteuid()};
}

std::optional<std::uint32_t> owner_of_running(std::int32_t pid, std::int64_t before_ns,
                                              std::int64_t before_since_boot_ns) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::ifstream file(folder + "/stat");
  std::string text;
  std::getline(file, text);
  // The name may hold anything; behind it comes the third field. The twenty-second is when it began.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  const long long ticks = std::strtoll(field.c_str(), nullptr, 10);
  timespec since_boot{}, now{};
  if (!fields || ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 ||
      ::clock_gettime(CLOCK_REALTIME, &now) != 0)
    return std::nullopt;
  const std::int64_t began = ticks * (kSecond / ::sysconf(_SC_CLK_TCK));  // since the start of the machine
  const std::int64_t wall = began + ns_of(now) - ns_of(since_boot);
  struct stat info{};
  if (wall >= before_ns || began >= before_since_boot_ns || ::stat(folder.c_str(), &info) != 0)
    return std::nullopt;
  return info.st_uid;
}

std::string name_of_this_host() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

}  // namespace tailor::importer
