// Which executions are sampled, where only a share of them is: all threads and workers of one agree, and how
// long it takes says nothing about it.
#pragma once

#include <cstdint>
#include <cstring>

#include "daemon/profile/leader.h"
#include "daemon/profile/records.h"
#include "proto/base/ids.h"
#include "tailor/draw.h"

namespace tailor::profile {

// The number of executions that are drawn of each million, on average; 0: all are.
using DrawnPpm = std::uint32_t;
inline constexpr DrawnPpm kAllDrawn = 0;

// By the identity, which agents make of random numbers.
inline bool is_drawn(const ExecutionId& id, DrawnPpm share) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof number);
  return share == kAllDrawn || tailor_draws(number, share) != 0;
}
// An execution that works for another one is drawn with it.
inline bool is_drawn(const ExecutionRecord& execution, DrawnPpm share) {
  return is_drawn(leader_of(execution).value_or(execution.id), share);
}

// How many executions each one that is drawn stands for.
inline double scale_of(DrawnPpm share) {
  return share == kAllDrawn ? 1.0 : 1e6 / static_cast<double>(share);
}

}  // namespace tailor::profile
