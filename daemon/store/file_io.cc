#include "daemon/store/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tailor::store {
namespace {

Error system_error(const std::string& what, const std::string& path, int code) {
  return Error{fmt::format("{} {}: {}", what, path, std::strerror(code)), code};
}

class FileOutput : public Output {
 public:
  FileOutput(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(std::string_view bytes) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n =
          ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int code = n < 0 ? errno : EIO;
        take_back();
        return system_error("cannot write", path_, code);
      }
      done += static_cast<std::size_t>(n);
    }
    end_ += bytes.size();
    return Ok{};
  }

  Status sync() override {
    // A device such as /dev/null has nothing to sync and says EINVAL.
    if (::fdatasync(fd_.get()) != 0 && errno != EINVAL) return system_error("cannot sync", path_, errno);
    return Ok{};
  }

 private:
  // The next append starts at the same place, so if this fails too only a torn tail stays, which readers
  // expect.
  void take_back() {
    if (::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0) return;
  }

  UniqueFd fd_;
  std::string path_;
  std::uint64_t end_ = 0;
};

class FileInput : public Input {
 public:
  FileInput(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  // Read, not mapped: a mapped file that is cut short kills its reader with SIGBUS.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n =
          ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error("cannot read", path_, errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  UniqueFd fd_;
  std::string path_;
};

}  // namespace

Status sync_directory(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error("cannot open directory", directory, errno);
  // Some file systems cannot sync a directory and say EINVAL; their entries need no sync.
  if (::fsync(fd.get()) != 0 && errno != EINVAL)
    return system_error("cannot sync directory", directory, errno);
  return Ok{};
}

Result<std::unique_ptr<Output>> create_file(const std::string& path, Existing existing) {
  if (existing == Existing::kReplace) {
    struct stat info{};
    const bool there = ::lstat(path.c_str(), &info) == 0;
    if (there && S_ISCHR(info.st_mode)) {
      UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!device) return system_error("cannot open", path, errno);
      return std::unique_ptr<Output>(std::make_unique<FileOutput>(std::move(device), path));
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("cannot replace", path, errno);
  }
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!fd) return system_error("cannot create", path, errno);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (auto synced = sync_directory(parent.empty() ? std::string(".") : parent); !synced)
    return synced.error();
  return std::unique_ptr<Output>(std::make_unique<FileOutput>(std::move(fd), path));
}

Result<std::unique_ptr<Input>> open_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO of that name must not hang.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error("cannot open", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot stat", path, errno);
  if (!S_ISREG(info.st_mode))
    return Error{fmt::format("cannot read {}: it is not a regular file", path), EINVAL};
  return std::unique_ptr<Input>(std::make_unique<FileInput>(std::move(fd), path));
}

Result<std::size_t> MemoryInput::read_at(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t n = std::min(out.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
  return n;
}

}  // namespace tailor::store
