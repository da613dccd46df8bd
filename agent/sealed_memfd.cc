#include "agent/sealed_memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace tailor::agent {

int CreateMemfd(const char* name) noexcept {
  // Hosts with vm.memfd_noexec=2 insist on the flag, kernels before 6.3 do not know it.
  int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return fd;
}

int MakeSealedMemfd(std::span<const char> bytes) noexcept {
  int fd = CreateMemfd("tailor-message");
  if (fd < 0) return -1;
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      ::close(fd);
      return -1;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace tailor::agent
