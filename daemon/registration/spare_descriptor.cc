#include "daemon/registration/spare_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>

namespace tailor::registration {

UniqueFd SpareDescriptor::accept_in_its_place(int listener) {
  fd_.reset();
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool SpareDescriptor::refill() {
  if (!fd_) fd_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return static_cast<bool>(fd_);
}

}  // namespace tailor::registration
