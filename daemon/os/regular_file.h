// Opening what may be anything: a name that a stranger chose leads to no device, and no FIFO makes us wait.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "proto/base/unique_fd.h"

namespace tailor::os {

// A regular file, to read; `facts` are its own then. An empty descriptor if it is none, or cannot be opened.
// `root`: of a path that is relative, as openat(2) has it. `extra`: flags of open(2).
inline UniqueFd open_regular(const std::string& path, struct stat& facts, int extra = 0,
                             int root = AT_FDCWD) {
  // Without O_NONBLOCK a FIFO of that name would wait for a writer.
  UniqueFd file(::openat(root, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra));
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  return file;
}

}  // namespace tailor::os
