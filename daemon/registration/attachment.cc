#include "daemon/registration/attachment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/registration/limits.h"
#include "proto/base/errors.h"

namespace tailor::registration {

namespace {

// A memory file of at least `bytes` bytes that has all of these seals.
Status check(int fd, std::uint64_t bytes, int seals) {
  if (fd < 0) return invalid("no descriptor of a memory file came with it");
  int has = ::fcntl(fd, F_GET_SEALS);
  if (has < 0) return invalid("its descriptor is no memory file");
  if ((has & seals) != seals)
    return invalid(fmt::format("its memory file has seals {:#x}, needed are {:#x}", has, seals));
  // Huge-page files have seals too, but reading one can fail with a signal.
  struct statfs file_system{};
  if (::fstatfs(fd, &file_system) != 0 || file_system.f_type != TMPFS_MAGIC)
    return invalid("its memory file is no tmpfs file");
  struct stat file{};
  if (::fstat(fd, &file) != 0) return os_error(std::strerror(errno), errno);
  if (static_cast<std::uint64_t>(file.st_size) < bytes) {
    return invalid(fmt::format("its memory file has {} bytes of {}", file.st_size, bytes));
  }
  return Ok{};
}

}  // namespace

Result<std::string> read_payload(int fd, std::uint64_t bytes) {
  if (bytes > kMaxMessageBytes) return exhausted(fmt::format("message of {} bytes is too large", bytes));
  Status usable = check(fd, bytes, F_SEAL_SHRINK | F_SEAL_WRITE);
  if (!usable) return in_context("large message: ", usable.error());
  // A peer that announces much must have written it: holes cost their owner nothing.
  constexpr std::uint64_t kBlock = 512;
  struct stat file{};
  if (::fstat(fd, &file) != 0 || static_cast<std::uint64_t>(file.st_blocks) * kBlock < bytes)
    return invalid("large message: its memory file has holes");
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    ssize_t got = ::pread(fd, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return os_error(fmt::format("large message: {}", got < 0 ? std::strerror(errno) : "ends early"), errno);
    done += static_cast<std::size_t>(got);
  }
  return content;
}

Result<std::shared_ptr<const ArenaView>> map_arena(int fd, std::uint64_t bytes,
                                                   std::shared_ptr<const void> held) {
  if (bytes > kMaxArenaBytes) return exhausted(fmt::format("arena of {} bytes is too large", bytes));
  Status usable = check(fd, bytes, F_SEAL_SHRINK | F_SEAL_GROW);
  if (!usable) return in_context("arena: ", usable.error());
  if (bytes == 0) return invalid("arena of 0 bytes");
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return os_error(fmt::format("arena: mmap: {}", std::strerror(errno)), errno);
  std::shared_ptr<const std::byte> owned(
      static_cast<const std::byte*>(memory),
      [bytes, held = std::move(held)](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), bytes); });
  UniqueFd file(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!file) return os_error(fmt::format("arena: {}", std::strerror(errno)), errno);
  return ArenaView::open(std::move(owned), bytes, std::move(file));
}

}  // namespace tailor::registration
