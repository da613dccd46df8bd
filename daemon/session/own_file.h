// Opening a file that a process is said to have written. Anybody can write to /tmp: it is believed only if it
// is a regular file of the process's own user.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/os/regular_file.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {

// An empty descriptor if it is not to be believed, or not there. `extra`: flags of open(2).
inline UniqueFd open_own_file(const std::string& path, std::uint32_t uid, int extra, std::uint64_t& size) {
  struct stat info{};
  UniqueFd file = os::open_regular(path, info, extra);
  if (!file || info.st_uid != uid) return {};
  size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

// The same of a path inside of the root directory `root` (of a process, perhaps in a container).
inline UniqueFd open_own_file_at(int root, const std::string& path, std::uint32_t uid, int extra,
                                 std::uint64_t& size) {
  const std::size_t begin = path.find_first_not_of('/');
  if (root < 0 || begin == std::string::npos) return {};
  struct stat info{};
  UniqueFd file = os::open_regular(path.substr(begin), info, extra, root);
  if (!file || info.st_uid != uid) return {};
  size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

}  // namespace tailor::session
