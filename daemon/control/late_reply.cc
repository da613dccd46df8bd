#include "daemon/control/late_reply.h"

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace tailor::control {

void LateReply::give(v1::ControlReply reply) {
  {
    std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  const std::uint64_t one = 1;
  // It fails only where the counter is full, and then the server is awake.
  (void)!::write(wake_->get(), &one, sizeof one);
}

std::optional<v1::ControlReply> LateReply::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(reply_, std::nullopt);
}

}  // namespace tailor::control
