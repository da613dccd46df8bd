#include "daemon/session/first_looks.h"

#include <algorithm>
#include <string>

#include "daemon/os/host_files.h"
#include "daemon/session/known_process.h"

namespace tailor::session {

void FirstLooks::begin(ProcessId process, TimeNs since, bool memory) {
  const auto user = os::owner_of(os_.proc() / std::to_string(process.pid));
  looks_.push_back({process, memory, since, user.value_or(unwind::kNoUser)});
}

void FirstLooks::take(const Tell& tell, const GiveUp& give_up) {
  if (looks_.empty()) return;
  work_.begin_walk(os_.now());
  std::erase_if(looks_, [&](Look& look) { return is_over(look, tell, give_up); });
}

bool FirstLooks::is_over(Look& look, const Tell& tell, const GiveUp& give_up) {
  if (look.seen == nullptr) {
    look.seen =
        work_.begin<Seen>(look.user, [proc = os_.proc(), process = look.process, memory = look.memory] {
          Seen seen{known_process(proc, process)};
          if (memory) seen.process.memory = memory_of(proc, process.pid);
          return seen;
        });
  }
  if (look.seen == nullptr || !look.seen->is_done()) {
    const bool late = os_.now() - look.since > kGivenUpAfter;
    if (late) give_up(look.process);
    return late;
  }
  // A later process of the same number may have been seen.
  const auto now = os::identify(os_, look.process.pid);
  const bool is_another = now.ok() && look.process.start != 0 && now->start != look.process.start;
  const bool is_gone = look.seen->value.process.comm.empty();
  if (look.seen->refused || is_gone || is_another) return true;
  look.seen->value.process.since = look.since;
  tell(look.seen->value.process);
  return true;
}

TimeNs FirstLooks::known_until(TimeNs now) const {
  TimeNs known = now;
  for (const Look& each : looks_) known = std::min(known, each.since);
  return std::max(known, now - kMostHeldBack);
}

}  // namespace tailor::session
