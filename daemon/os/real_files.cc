#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "daemon/os/files.h"
#include "proto/base/errors.h"

namespace tailor::os {
namespace {

Error errno_error(int code = errno) {
  return os_error(std::strerror(code), code);
}

class RealFiles : public Files {
 public:
  Result<UniqueFd> create(const std::string& path, mode_t mode) override {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd) return errno_error();
    return fd;
  }

  Result<std::size_t> write(int fd, std::string_view bytes, std::uint64_t offset) override {
    while (true) {
      const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n > 0) return static_cast<std::size_t>(n);
      if (n == 0) return errno_error(EIO);
      if (errno != EINTR) return errno_error();
    }
  }

  Status truncate(int fd, std::uint64_t size) override {
    return done(::ftruncate(fd, static_cast<off_t>(size)));
  }

  Status sync(int fd) override { return done(::fdatasync(fd)); }

  Status sync_directory(const std::string& path) override {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return errno_error();
    return done(::fsync(fd.get()));
  }

  Status rename(const std::string& from, const std::string& to) override {
    return done(::rename(from.c_str(), to.c_str()));
  }

  Status remove(const std::string& path) override { return done(::unlink(path.c_str())); }

 private:
  static Status done(int result) {
    if (result != 0) return errno_error();
    return Ok{};
  }
};

}  // namespace

Files& real_files() {
  static RealFiles files;
  return files;
}

}  // namespace tailor::os
