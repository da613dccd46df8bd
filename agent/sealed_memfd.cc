#include "agent/sealed_memfd.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace tailor::agent {

namespace {

// While it lives, the calling thread gets no SIGXFSZ. The kernel sends it to the thread that went beyond the
// limit.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() noexcept {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    was_pending_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    int error = errno;
    const timespec at_once{0, 0};
    if (!was_pending_) ::sigtimedwait(&signal_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

bool write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int create_memfd(const char* name) noexcept {
  // Hosts with vm.memfd_noexec=2 insist on the flag, kernels before 6.3 do not know it.
  int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return fd;
}

std::uint64_t file_size_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

bool set_file_size(int fd, std::uint64_t bytes) noexcept {
  if (bytes > file_size_limit()) {
    errno = EFBIG;
    return false;
  }
  NoFileSizeSignal guard;  // the limit may have changed just now
  return ::ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

int make_sealed_memfd(std::span<const char> bytes) noexcept {
  if (bytes.size() > file_size_limit()) {
    errno = EFBIG;
    return -1;
  }
  NoFileSizeSignal guard;
  int fd = create_memfd("tailor-message");
  if (fd < 0) return -1;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (write_all(fd, bytes) && ::fcntl(fd, F_ADD_SEALS, kSeals) == 0) return fd;
  int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace tailor::agent
