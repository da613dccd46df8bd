#include "tests/support/failing_files.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailor::test {
namespace {

FailingFiles* active = nullptr;

Error failed(int code) {
  return Error{std::strerror(code), code};
}

// What SQLite calls instead of the operating system, with the system's signatures and errno.
int sqlite_open(const char* path, int flags, int mode) {
  if ((flags & O_CREAT) != 0) {
    if (auto code = active->next(true)) return errno = *code, -1;
  }
  return ::open(path, flags, mode);
}

ssize_t sqlite_write(int fd, const void* bytes, std::size_t size) {
  const auto code = active->next(true);
  if (!code) return ::write(fd, bytes, active->shortened(size));
  if (*code != ESHUTDOWN) (void)!::write(fd, bytes, size / 2);
  errno = *code;
  return -1;
}

ssize_t sqlite_pwrite(int fd, const void* bytes, std::size_t size, off_t offset) {
  const auto code = active->next(true);
  if (!code) return ::pwrite(fd, bytes, active->shortened(size), offset);
  if (*code != ESHUTDOWN) (void)!::pwrite(fd, bytes, size / 2, offset);
  errno = *code;
  return -1;
}

int sqlite_truncate(int fd, off_t size) {
  if (auto code = active->next(false)) return errno = *code, -1;
  return ::ftruncate(fd, size);
}

int sqlite_unlink(const char* path) {
  if (auto code = active->next(false)) return errno = *code, -1;
  return ::unlink(path);
}

void replace(const char* name, sqlite3_syscall_ptr call) {
  sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
  vfs->xSetSystemCall(vfs, name, call);  // a name that this build does not have changes nothing
}

template <typename Function>
sqlite3_syscall_ptr as_call(Function* function) {
  return reinterpret_cast<sqlite3_syscall_ptr>(function);
}

}  // namespace

FailingFiles::FailingFiles(Fault fault, std::uint64_t at) : fault_(fault), at_(at) {
  active = this;
  replace("open", as_call(&sqlite_open));
  replace("write", as_call(&sqlite_write));
  replace("pwrite", as_call(&sqlite_pwrite));
  replace("pwrite64", as_call(&sqlite_pwrite));
  replace("ftruncate", as_call(&sqlite_truncate));
  replace("unlink", as_call(&sqlite_unlink));
}

FailingFiles::~FailingFiles() {
  for (const char* name : {"open", "write", "pwrite", "pwrite64", "ftruncate", "unlink"})
    replace(name, nullptr);
  active = nullptr;
}

std::optional<int> FailingFiles::next(bool needs_room) {
  ++calls_;
  if (at_ == 0 || calls_ < at_) return std::nullopt;
  const bool first = calls_ == at_;
  std::optional<int> code;
  switch (fault_) {
    case Fault::kNoSpace:
      if (first && needs_room) code = ENOSPC;
      break;
    case Fault::kFull:
      if (needs_room) code = ENOSPC;
      break;
    case Fault::kIo:
      if (first) code = EIO;
      break;
    case Fault::kKill:
      // Only the call at which the process ends can have done a part.
      code = first ? EIO : ESHUTDOWN;
      break;
    case Fault::kDead:
      code = EIO;
      break;
    case Fault::kShort:
      break;
  }
  if (code) struck_ = true;
  return code;
}

std::size_t FailingFiles::shortened(std::size_t size) {
  if (fault_ != Fault::kShort || calls_ != at_ || size < 2) return size;
  struck_ = true;
  return size / 2;
}

Result<UniqueFd> FailingFiles::create(const std::string& path, mode_t mode) {
  if (auto code = next(true)) return failed(*code);
  return os::real_files().create(path, mode);
}

Result<std::size_t> FailingFiles::write(int fd, std::string_view bytes, std::uint64_t offset) {
  const auto code = next(true);
  if (!code) return os::real_files().write(fd, bytes.substr(0, shortened(bytes.size())), offset);
  if (*code != ESHUTDOWN && bytes.size() > 1)
    (void)os::real_files().write(fd, bytes.substr(0, bytes.size() / 2), offset);
  return failed(*code);
}

Status FailingFiles::truncate(int fd, std::uint64_t size) {
  if (auto code = next(false)) return failed(*code);
  return os::real_files().truncate(fd, size);
}

// Nobody pulls the plug here: what was written is there.
Status FailingFiles::sync(int) {
  if (auto code = next(false)) return failed(*code);
  return Ok{};
}

Status FailingFiles::sync_directory(const std::string&) {
  if (auto code = next(true)) return failed(*code);
  return Ok{};
}

Status FailingFiles::rename(const std::string& from, const std::string& to) {
  if (auto code = next(true)) return failed(*code);
  return os::real_files().rename(from, to);
}

Status FailingFiles::remove(const std::string& path) {
  if (auto code = next(false)) return failed(*code);
  return os::real_files().remove(path);
}

}  // namespace tailor::test
