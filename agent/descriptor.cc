#include "agent/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tailor::agent {

bool Descriptor::take(int fd) noexcept {
  close();
  if (fd >= 0 && fd <= STDERR_FILENO) {
    int higher = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(fd);
    fd = higher;
  }
  struct stat what{};
  if (fd < 0) return false;
  if (::fstat(fd, &what) != 0) {
    ::close(fd);
    return false;
  }
  device_ = what.st_dev;
  inode_ = what.st_ino;
  fd_.store(fd, std::memory_order_relaxed);
  return true;
}

int Descriptor::checked() const noexcept {
  int fd = fd_.load(std::memory_order_relaxed);
  struct stat what{};
  if (fd < 0 || ::fstat(fd, &what) != 0) return -1;
  return what.st_dev == device_ && what.st_ino == inode_ ? fd : -1;
}

void Descriptor::close() noexcept {
  int fd = checked();
  fd_.store(-1, std::memory_order_relaxed);
  if (fd >= 0) ::close(fd);
}

}  // namespace tailor::agent
