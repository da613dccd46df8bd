// Who held the locks that an execution waited for, as far as a process of its engine saw it (v1::Blocked).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/profile/records.h"

namespace tailor::profile {

struct Blocker {
  ProcessId process;
  ExecutionId execution;    // for which it worked when it was seen first; all 0: for none that is known
  TimeNs from = 0, to = 0;  // seen to hold the lock: the first and the last time
  bool operator==(const Blocker&) const = default;
};

struct Blockers {
  std::vector<Blocker> seen;   // by `from`, kMostBlockers at most
  std::uint64_t left_out = 0;  // times that another one was seen, for which there was no room
  bool operator==(const Blockers&) const = default;
};

inline constexpr std::size_t kMostBlockers = 64;

}  // namespace tailor::profile
