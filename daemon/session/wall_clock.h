// Watches the time of day: somebody may set it while a recording runs, and it drifts.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/os/os.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Control thread only.
class WallClock {
 public:
  explicit WallClock(os::Os& os) : os_(os) {}
  // Looks once a second. Gives CLOCK_REALTIME at `start`, a time of this host's monotonic clock, where that
  // is not `known_ns` any more.
  std::optional<std::uint64_t> look(TimeNs start, std::uint64_t known_ns);

 private:
  os::Os& os_;
  TimeNs next_look_ = kTimeMin;
};

}  // namespace tailor::session
