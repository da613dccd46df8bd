// What changes files: the seam between profiles on disk and the operating system, so that tests can make
// every single call fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::os {

// Thread-safe. Errors carry the errno in `code`; which file it was, and what to do, is for the caller to say.
class Files {
 public:
  virtual ~Files() = default;

  // A new file, to be written. Fails with EEXIST where there is one of that name.
  virtual Result<UniqueFd> create(const std::string& path, mode_t mode) = 0;
  // How many of the bytes were written: at least one.
  virtual Result<std::size_t> write(int fd, std::string_view bytes, std::uint64_t offset) = 0;
  virtual Status truncate(int fd, std::uint64_t size) = 0;
  // What was written survives a power failure.
  virtual Status sync(int fd) = 0;
  // The same of creations, renames and removals in the directory.
  virtual Status sync_directory(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
};

// The operating system's own.
Files& real_files();

}  // namespace tailor::os
