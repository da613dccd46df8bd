#include "daemon/session/pauses.h"

#include <algorithm>

namespace tailor::session {

void Pauses::begin(ProcessId process, TimeNs from) {
  if (!paused_.insert(process).second) return;
  const auto over = [](const profile::Pause& pause) { return pause.to != kTimeMax; };
  if (static_cast<std::size_t>(std::ranges::count_if(list_, over)) >= kMostOver)
    list_.erase(std::ranges::find_if(list_, over));
  const auto at =
      std::ranges::upper_bound(list_, from, {}, [](const profile::Pause& pause) { return pause.from; });
  list_.insert(at, {process, from, kTimeMax});
}

void Pauses::end(ProcessId process, TimeNs to) {
  if (paused_.erase(process) == 0) return;
  const auto found = std::ranges::find_if(
      list_, [&](const profile::Pause& pause) { return pause.process == process && pause.to == kTimeMax; });
  found->to = std::max(to, found->from);
}

std::uint64_t Pauses::ns_of(ProcessId process, TimeNs now) const {
  std::uint64_t sum = 0;
  for (const profile::Pause& pause : list_) {
    if (pause.process == process)
      sum += static_cast<std::uint64_t>(std::max<TimeNs>(0, std::min(pause.to, now) - pause.from));
  }
  return sum;
}

TimeNs Pauses::since(ProcessId process) const {
  for (const profile::Pause& pause : list_) {
    if (pause.process == process && pause.to == kTimeMax) return pause.from;
  }
  return kTimeMax;
}

}  // namespace tailor::session
