#include "daemon/store/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "proto/base/errors.h"

namespace tailor::store {
namespace {

Error system_error(const std::string& what, const std::string& path, int code) {
  return os_error(fmt::format("{} {}: {}", what, path, std::strerror(code)), code);
}

class FileOutput : public Output {
 public:
  FileOutput(os::Files& files, UniqueFd fd, std::string path)
      : files_(files), fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(std::string_view bytes) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      auto written = files_.write(fd_.get(), bytes.substr(done), end_ + done);
      if (!written) {
        take_back();
        return system_error("cannot write", path_, written.error().code);
      }
      done += *written;
    }
    end_ += bytes.size();
    return Ok{};
  }

  Status sync() override {
    const Status synced = files_.sync(fd_.get());
    // A device such as /dev/null has nothing to sync and says EINVAL.
    if (!synced && synced.error().code != EINVAL)
      return system_error("cannot sync", path_, synced.error().code);
    return Ok{};
  }

 private:
  // The next append starts at the same place, so if this fails too only a torn tail stays, which readers
  // expect.
  void take_back() { (void)files_.truncate(fd_.get(), end_); }

  os::Files& files_;
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

Status sync_directory(const std::string& directory, os::Files& files) {
  const Status synced = files.sync_directory(directory);
  // Some file systems cannot sync a directory and say EINVAL; their entries need no sync.
  if (synced || synced.error().code == EINVAL) return Ok{};
  return system_error("cannot sync directory", directory, synced.error().code);
}

Result<std::unique_ptr<Output>> create_file(const std::string& path, Existing existing, os::Files& files) {
  if (existing == Existing::kReplace) {
    const Status removed = files.remove(path);
    if (!removed && removed.error().code != ENOENT)
      return system_error("cannot replace", path, removed.error().code);
  }
  auto fd = files.create(path, 0640);
  if (!fd) return system_error("cannot create", path, fd.error().code);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (auto synced = sync_directory(parent.empty() ? std::string(".") : parent, files); !synced) {
    (void)files.remove(path);  // else it would be in the way when this is tried again
    return synced.error();
  }
  return std::unique_ptr<Output>(std::make_unique<FileOutput>(files, std::move(*fd), path));
}

Result<std::unique_ptr<Input>> open_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO of that name must not hang.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error("cannot open", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot stat", path, errno);
  if (!S_ISREG(info.st_mode))
    return Error{fmt::format("cannot read {}: it is not a regular file", path), EINVAL, ErrorKind::kInvalid};
  return std::unique_ptr<Input>(std::make_unique<FileInput>(std::move(fd), path));
}

Result<std::size_t> MemoryInput::read_at(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t n = std::min(out.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
  return n;
}

}  // namespace tailor::store
