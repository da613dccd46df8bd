#include "daemon/capture/host/kernel_functions.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "proto/base/errors.h"

namespace tailor::capture {
Result<std::vector<KernelFunction>> wait_functions(const os::Os& os) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::vector<KernelFunction>> known;
  const std::filesystem::path path = os.proc() / "kallsyms";
  std::lock_guard lock(mutex);
  if (const auto found = known.find(path); found != known.end()) return found->second;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int code = errno;
    return os_error(fmt::format("{}: {}", path.string(), std::strerror(code)), code);
  }
  std::stringstream text;
  text << file.rdbuf();
  std::vector<KernelFunction> functions = wait_functions(text.view());
  if (functions.empty()) {
    return os_error(
        "the kernel hides the addresses of its functions: sysctl kernel.kptr_restrict=0, or CAP_SYSLOG",
        EPERM);
  }
  known[path] = functions;
  return functions;
}

}  // namespace tailor::capture
