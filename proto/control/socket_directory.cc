#include "proto/control/socket_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"
#include "proto/control/paths.h"

namespace tailor::control {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return path.substr(0, slash);
}

Error failed(const char* what, const std::string& path) {
  return os_error(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)), errno);
}

Status make(const std::string& directory, mode_t mode) {
  if (directory.empty()) return Ok{};
  if (::mkdir(directory.c_str(), mode) == 0) {
    // The umask may have taken rights away that others need to reach the socket.
    if (::chmod(directory.c_str(), mode) != 0) return failed("set the mode of", directory);
    return Ok{};
  }
  if (errno == EEXIST) return Ok{};
  if (errno != ENOENT) return failed("create the directory", directory);
  if (Status above = make(parent_of(directory), mode); !above.ok()) return above;
  if (::mkdir(directory.c_str(), mode) != 0 && errno != EEXIST)
    return failed("create the directory", directory);
  if (::chmod(directory.c_str(), mode) != 0) return failed("set the mode of", directory);
  return Ok{};
}

}  // namespace

Status check_private_directory(const std::string& directory) {
  const auto refused = [&](const std::string& why) {
    return os_error(
        fmt::format("{} cannot hold Tailor's sockets: {}. Remove it, or name other paths (XDG_RUNTIME_DIR, "
                    "TAILOR_SOCKET, TAILOR_CONTROL)",
                    directory, why),
        EPERM);
  };
  struct stat info{};
  if (::lstat(directory.c_str(), &info) != 0) return failed("look at", directory);
  if (S_ISLNK(info.st_mode)) return refused("it is a symbolic link");
  if (!S_ISDIR(info.st_mode)) return refused("it is no directory");
  if (info.st_uid != ::geteuid()) return refused(fmt::format("it belongs to user {}", info.st_uid));
  if ((info.st_mode & 07777) != 0700) {
    return refused(fmt::format("its mode is {:04o}, which must be 0700", info.st_mode & 07777));
  }
  return Ok{};
}

Status make_socket_directory(const std::string& socket) {
  const std::string directory = parent_of(socket);
  const mode_t mode = ::geteuid() == 0 ? 0755 : 0700;
  if (Status made = make(directory, mode); !made.ok()) return made;
  return check_socket_directory(socket);
}

Status check_socket_directory(const std::string& socket) {
  const std::string directory = parent_of(socket);
  struct stat info{};
  if (directory.empty() || directory != shared_run_directory()) return Ok{};
  if (::lstat(directory.c_str(), &info) != 0) return Ok{};  // there is nothing to be deceived by
  return check_private_directory(directory);
}

}  // namespace tailor::control
