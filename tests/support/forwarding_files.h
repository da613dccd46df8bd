// The operating system's files, for tests that change one of their calls.
#pragma once

#include <string>
#include <string_view>

#include "daemon/os/files.h"

namespace tailor::test {

class ForwardingFiles : public os::Files {
 public:
  Result<UniqueFd> create(const std::string& path, mode_t mode) override { return real_.create(path, mode); }
  Result<std::size_t> write(int fd, std::string_view bytes, std::uint64_t offset) override {
    return real_.write(fd, bytes, offset);
  }
  Status truncate(int fd, std::uint64_t size) override { return real_.truncate(fd, size); }
  Status sync(int fd) override { return real_.sync(fd); }
  Status sync_directory(const std::string& path) override { return real_.sync_directory(path); }
  Status rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  Status remove(const std::string& path) override { return real_.remove(path); }

 private:
  os::Files& real_ = os::real_files();
};

}  // namespace tailor::test
