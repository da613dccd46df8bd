#include "daemon/registration/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace tailor::registration {

Wakeup::Wakeup() : counter_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Wakeup::wake() const {
  const std::uint64_t one = 1;
  // A full counter is a wake-up that is already under way.
  [[maybe_unused]] const ssize_t written = ::write(counter_.get(), &one, sizeof one);
}

void Wakeup::clear() const {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(counter_.get(), &times, sizeof times);
}

}  // namespace tailor::registration
