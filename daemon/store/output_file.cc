#include "daemon/store/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/store/output_target.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

Error output_error(const std::string& what, const std::string& path, int code) {
  return os_error(fmt::format("{} {}: {}", what, path, std::strerror(code)), code);
}

// A name of our own beside the file; longer names than 255 bytes are none.
std::string name_beside(const std::string& path, int attempt) {
  constexpr std::size_t kMostOfName = 200;
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string().substr(0, kMostOfName);
  const std::string own =
      fmt::format("{}.{}{}.new", name, ::getpid(), attempt == 0 ? "" : fmt::format("-{}", attempt));
  return (whole.parent_path() / own).string();
}

// SIGPIPE of this thread, while it lives, is nobody's.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending{};
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) {
      while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// Waits where the other end does not block and has no room.
Status write_stream(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return output_error("cannot write", name, errno);
    }
  }
  return Ok{};
}

class StreamOutput : public NamedOutput {
 public:
  StreamOutput(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Status append(std::string_view bytes) override {
    const NoPipeSignal none;
    return write_stream(fd_.get(), bytes, name_);
  }
  // A pipe and most devices have nothing to sync and say so.
  Status sync() override {
    if (::fdatasync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP) return Ok{};
    return output_error("cannot sync", name_, errno);
  }

 private:
  UniqueFd fd_;
  std::string name_;
};

// A file that is open. A part that could not be written whole is taken back.
class AppendedFile {
 public:
  AppendedFile(os::Files& files, UniqueFd fd, std::string path)
      : files_(files), fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      auto written = files_.write(fd_.get(), bytes.substr(done), end_ + done);
      if (!written) {
        // If this fails too, the next append starts at the same place all the same.
        (void)files_.truncate(fd_.get(), end_);
        return output_error("cannot write", path_, written.error().code);
      }
      done += *written;
    }
    end_ += bytes.size();
    return Ok{};
  }
  Status sync() {
    const Status synced = files_.sync(fd_.get());
    return synced ? synced : output_error("cannot sync", path_, synced.error().code);
  }

 private:
  os::Files& files_;
  UniqueFd fd_;
  std::string path_;
  std::uint64_t end_ = 0;
};

// Of a file whose directory takes no other file. It is cut when the first bytes come.
class InPlaceOutput : public NamedOutput {
 public:
  InPlaceOutput(os::Files& files, UniqueFd fd, const std::string& path)
      : files_(files), fd_(fd.get()), data_(files, std::move(fd), path), path_(path) {}

  Status append(std::string_view bytes) override {
    if (!std::exchange(cut_, true)) {
      if (Status done = files_.truncate(fd_, 0); !done)
        return output_error("cannot write", path_, done.error().code);
    }
    return data_.append(bytes);
  }
  Status sync() override { return data_.sync(); }

 private:
  os::Files& files_;
  int fd_;  // of data_
  AppendedFile data_;
  std::string path_;
  bool cut_ = false;
};

// Becomes the file of that name when it is time.
class NewFile : public NamedOutput {
 public:
  NewFile(os::Files& files, const OutputOptions& options, std::string path)
      : files_(files),
        options_(options),
        path_(std::move(path)),
        begun_(options.shown == OutputOptions::Shown::kAtOnce) {}
  ~NewFile() override {
    if (!shown_ && !name_.empty()) (void)files_.remove(name_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status open() {
    const std::string directory = directory_of(path_);
    if (UniqueFd unnamed = create_unnamed(directory)) return take(std::move(unnamed));
    for (int attempt = 0;; ++attempt) {
      const std::string name = name_beside(path_, attempt);
      auto named = files_.create(name, options_.mode);
      if (named) {
        name_ = name;
        return take(*std::move(named));
      }
      if (named.error().code != EEXIST || attempt == kMostAttempts)
        return output_error("cannot write", path_, named.error().code);
    }
  }

  Status append(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    if (Status done = data_->append(bytes); !done) return done;
    empty_ = empty_ && bytes.empty();
    if (begun_) (void)show();  // complete() tells
    return Ok{};
  }
  Status sync() override { return data_->sync(); }
  void begin() override {
    const std::lock_guard lock(mutex_);
    begun_ = begun_ || options_.shown == OutputOptions::Shown::kWhenBegun;
    if (begun_ && !empty_) (void)show();
  }
  Status complete() override {
    const std::lock_guard lock(mutex_);
    return show();
  }

 private:
  static constexpr int kMostAttempts = 100;

  // A file without a name is gone with its writer. Not every file system has such files; a name is given by
  // way of /proc. Of a disk that tests made to fail it is not asked.
  UniqueFd create_unnamed(const std::string& directory) const {
    if (&files_ != &os::real_files() || ::access("/proc/self/fd", X_OK) != 0) return UniqueFd();
    return UniqueFd(::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, options_.mode));
  }

  Status take(UniqueFd fd) {
    struct stat there{}, made{};
    // What its owner kept from others stays so.
    if (::lstat(path_.c_str(), &there) == 0 && S_ISREG(there.st_mode) && ::fstat(fd.get(), &made) == 0)
      (void)::fchmod(fd.get(), made.st_mode & there.st_mode & 0777);
    fd_ = fd.get();
    data_.emplace(files_, std::move(fd), path_);
    return Ok{};
  }

  // Once. The first failure stays.
  Status show() {
    if (shown_ || !problem_.ok()) return problem_;
    problem_ = attempt();
    shown_ = true;  // what could not take the name is kept for its owner
    return problem_;
  }

  Status attempt() {
    if (name_.empty()) {
      if (Status named = give_name(); !named) return named;
    }
    if (options_.keep_old && holds_something()) {
      if (Status kept = files_.rename(path_, path_ + ".old"); !kept) return not_shown(kept.error().code);
    }
    if (Status renamed = files_.rename(name_, path_); !renamed) return not_shown(renamed.error().code);
    return sync_directory(directory_of(path_), files_);
  }

  Status give_name() {
    for (int attempt = 0;; ++attempt) {
      const std::string name = name_beside(path_, attempt);
      const std::string self = fmt::format("/proc/self/fd/{}", fd_);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        name_ = name;
        return Ok{};
      }
      if (errno != EEXIST || attempt == kMostAttempts) return output_error("cannot write", path_, errno);
    }
  }

  bool holds_something() const {
    struct stat there{};
    return ::lstat(path_.c_str(), &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0;
  }

  Error not_shown(int code) const {
    return os_error(fmt::format("cannot replace {}: {}; what was to take its place is in {}", path_,
                                std::strerror(code), name_),
                    code);
  }

  os::Files& files_;
  const OutputOptions options_;
  const std::string path_;
  std::mutex mutex_;  // of what follows
  std::string name_;  // "": it has none yet
  int fd_ = -1;       // of data_
  std::optional<AppendedFile> data_;
  bool empty_ = true, begun_, shown_ = false;
  Status problem_ = Ok{};
};

// No file can be made where it is.
bool closed_directory(int code) {
  return code == EACCES || code == EPERM || code == EROFS;
}

Result<std::unique_ptr<NamedOutput>> open_at(OutputTarget target, const std::string& name,
                                             const OutputOptions& options, os::Files& files) {
  if (target.stream) {
    if (!options.text && ::isatty(target.stream.get()) == 1)
      return invalid(
          fmt::format("what is to be written to {} is no text for a terminal: name a file with -o", name));
    return std::unique_ptr<NamedOutput>(std::make_unique<StreamOutput>(std::move(target.stream), name));
  }
  auto file = std::make_unique<NewFile>(files, options, target.path);
  const Status made = file->open();
  if (made) return std::unique_ptr<NamedOutput>(std::move(file));
  if (!target.exists || !closed_directory(made.error().code)) return made.error();
  UniqueFd there(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!there) return output_error("cannot write", target.path, errno);
  return std::unique_ptr<NamedOutput>(std::make_unique<InPlaceOutput>(files, std::move(there), target.path));
}

}  // namespace

Result<std::unique_ptr<NamedOutput>> open_output(const std::string& path, const OutputOptions& options,
                                                 os::Files& files) {
  auto target = find_output_target(path);
  if (!target) return target.error();
  return open_at(*std::move(target), output_name(path), options, files);
}

Status write_output(const std::string& path, std::string_view content, mode_t mode, os::Files& files) {
  auto target = find_output_target(path);
  if (!target) return target.error();
  if (target->standard_output) {
    std::fflush(stdout);  // what was printed comes first
    return write_stream(target->stream.get(), content, output_name(path));
  }
  OutputOptions options;
  options.mode = mode;
  options.text = true;
  auto output = open_at(*std::move(target), output_name(path), options, files);
  if (!output) return output.error();
  if (Status done = (*output)->append(content); !done) return done;
  if (Status done = (*output)->sync(); !done) return done;
  return (*output)->complete();
}

}  // namespace tailor::store
