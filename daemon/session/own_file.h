// Opening a file that a process is said to have written. Anybody can write to /tmp: it is believed only if it
// is a regular file of the process's own user.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "proto/base/unique_fd.h"

namespace tailor::session {

// An empty descriptor if it is not to be believed, or not there. `extra`: flags of open(2).
inline UniqueFd open_own_file(const std::string& path, std::uint32_t uid, int extra, std::uint64_t& size) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != uid) return {};
  size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

// The same of a path inside of the root directory `root` (of a process, perhaps in a container).
inline UniqueFd open_own_file_at(int root, const std::string& path, std::uint32_t uid, int extra,
                                 std::uint64_t& size) {
  const std::size_t begin = path.find_first_not_of('/');
  if (root < 0 || begin == std::string::npos) return {};
  UniqueFd file(::openat(root, path.c_str() + begin, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != uid) return {};
  size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

}  // namespace tailor::session
