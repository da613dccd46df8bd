#include "daemon/session/first_looks.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "daemon/os/host_files.h"
#include "daemon/session/known_process.h"

namespace tailor::session {
namespace {

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t begin, std::size_t most) {
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(std::min(begin, all.size()));
  const auto to = all.begin() + static_cast<std::ptrdiff_t>(std::min(begin + most, all.size()));
  return {from, to};
}

}  // namespace

void FirstLooks::begin(ProcessId process, TimeNs since, bool memory) {
  const auto user = os::owner_of(os_.proc() / std::to_string(process.pid));
  looks_.push_back({process, memory, since, kTimeMin, user.value_or(unwind::kNoUser)});
}

void FirstLooks::again(ProcessId process, TimeNs since, bool memory) {
  const auto waits = [&](const Look& each) { return each.process == process && each.seen == nullptr; };
  if (std::ranges::any_of(looks_, waits)) return;
  const TimeNs now = os_.now();
  std::erase_if(looked_again_, [now](const auto& each) { return each.second + kApart < now; });
  begin(process, since, memory);
  TimeNs& last = looked_again_.try_emplace(process, now - kApart).first->second;
  looks_.back().not_before = last + kApart;
  last = std::max(now, last + kApart);
}

void FirstLooks::ask(Look& look) {
  look.seen = work_.begin<Seen>(look.user, [proc = os_.proc(), process = look.process, memory = look.memory] {
    Seen seen{known_process(proc, process)};
    if (memory) seen.process.memory = memory_of(proc, process.pid);
    return seen;
  });
}

// Refused, or of a process that is gone. A later process of the same number may have been seen.
bool FirstLooks::is_of_no_use(const Look& look) {
  const auto now = os::identify(os_, look.process.pid);
  const bool is_another = now.ok() && look.process.start != 0 && now->start != look.process.start;
  return look.seen->refused || look.seen->value.process.comm.empty() || is_another;
}

pipeline::KnownProcess FirstLooks::next_part(Look& look, std::size_t most) {
  const pipeline::KnownProcess& all = look.seen->value.process;
  pipeline::KnownProcess part{all.process,      all.comm,
                              all.cgroup,       part_of(all.mappings, look.told, most),
                              all.agent_thread, part_of(all.memory, look.told, most)};
  look.told += most;
  part.since = look.since;
  part.more = look.told < std::max(all.mappings.size(), all.memory.size());
  return part;
}

void FirstLooks::take(const Tell& tell, const GiveUp& give_up) {
  if (looks_.empty()) return;
  const TimeNs now = os_.now();
  work_.begin_walk(now);
  std::size_t left = kMostOfRound;
  std::map<std::uint32_t, std::size_t> left_of_user;
  std::deque<Look> others;
  for (Look& look : looks_) {
    if (look.seen == nullptr && now >= look.not_before) ask(look);
    if (look.seen == nullptr || !look.seen->is_done()) {
      if (now - look.since > kGivenUpAfter) {
        give_up(look.process);
      } else {
        others.push_back(std::move(look));
      }
      continue;
    }
    std::size_t& of_user = left_of_user.try_emplace(look.user, kMostOfUser).first->second;
    const std::size_t most = std::min(of_user, left);
    if (most <= kOfProcess) {
      others.push_back(std::move(look));
      continue;
    }
    if (look.told == 0 && is_of_no_use(look)) continue;
    const pipeline::KnownProcess part = next_part(look, most - kOfProcess);
    const std::size_t cost = kOfProcess + std::max(part.mappings.size(), part.memory.size());
    of_user -= cost;
    left -= cost;
    tell(part);
    if (part.more) others.push_back(std::move(look));
  }
  looks_ = std::move(others);
}

TimeNs FirstLooks::known_until(TimeNs now) const {
  TimeNs known = now;
  for (const Look& each : looks_) known = std::min(known, each.since);
  return std::max(known, now - kMostHeldBack);
}

}  // namespace tailor::session
