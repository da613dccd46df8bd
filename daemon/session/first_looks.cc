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

bool FirstLooks::again(ProcessId process, TimeNs since, bool memory) {
  const auto waits = [&](const Look& each) { return each.process == process && each.seen == nullptr; };
  if (const auto waiting = std::ranges::find_if(looks_, waits); waiting != looks_.end()) {
    waiting->memory = waiting->memory || memory;
    return false;
  }
  const TimeNs now = os_.now();
  std::erase_if(looked_again_, [now](const auto& each) { return each.second + kApart < now; });
  begin(process, since, memory);
  TimeNs& last = looked_again_.try_emplace(process, now - kApart).first->second;
  looks_.back().not_before = last + kApart;
  last = std::max(now, last + kApart);
  return true;
}

void FirstLooks::ask(Look& look) {
  look.seen = work_.begin<Seen>(look.user, [proc = os_.proc(), process = look.process, memory = look.memory] {
    Seen seen{known_process(proc, process)};
    if (memory) seen.process.memory = memory_of(proc, process.pid);
    return seen;
  });
}

std::size_t FirstLooks::Seen::bytes() const {
  std::size_t all = 0;
  for (const auto& each : process.mappings) all += sizeof each + each.path.size() + each.build_id.size();
  for (const auto& each : process.memory) all += sizeof each + each.name.size();
  return all;
}

// A large one is freed by a thread of the user, as it was made.
void FirstLooks::release(Look& look) {
  constexpr std::size_t kLarge = 65536;
  const std::size_t bytes = look.seen->value.bytes();
  work_.release(look.user, bytes);
  if (bytes >= kLarge) work_.drop(look.user, std::move(look.seen));
}

// Of a process that is gone. A later process of the same number may have been seen.
bool FirstLooks::is_of_no_use(const Look& look) {
  const auto now = os::identify(os_, look.process.pid);
  const bool is_another = now.ok() && look.process.start != 0 && now->start != look.process.start;
  return look.seen->value.process.comm.empty() || is_another;
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

// Whether what it saw can be told.
bool FirstLooks::is_ready(Look& look, TimeNs now, const GiveUp& give_up) {
  if (look.seen == nullptr && !look.given_up && now >= look.not_before) ask(look);
  if (look.seen != nullptr && look.seen->is_done()) {
    if (!look.seen->refused) return true;
    look.seen = nullptr;  // too much of its user waits to be told: later
  }
  if (!look.given_up && now - std::max(look.since, look.not_before) > kGivenUpAfter) {
    look.given_up = true;
    give_up(look.process);
  }
  return false;
}

void FirstLooks::take(const Tell& tell, const GiveUp& give_up) {
  if (looks_.empty()) return;
  const TimeNs now = os_.now();
  work_.begin_walk(now);
  std::size_t left = kMostOfRound;
  std::map<std::uint32_t, std::size_t> left_of_user;
  std::deque<Look> others;
  for (Look& look : looks_) {
    if (!is_ready(look, now, give_up)) {
      // One that is given up stays until its thread lets go of it.
      if (!look.given_up || look.seen != nullptr) others.push_back(std::move(look));
      continue;
    }
    std::size_t& of_user = left_of_user.try_emplace(look.user, kMostOfUser).first->second;
    const std::size_t most = std::min(of_user, left);
    const bool of_no_use = look.given_up || (look.told == 0 && is_of_no_use(look));
    if (!of_no_use && most <= kOfProcess) {
      others.push_back(std::move(look));
      continue;
    }
    if (of_no_use) {
      release(look);
      continue;
    }
    const pipeline::KnownProcess part = next_part(look, most - kOfProcess);
    const std::size_t cost = kOfProcess + std::max(part.mappings.size(), part.memory.size());
    of_user -= cost;
    left -= cost;
    tell(part);
    if (part.more) {
      others.push_back(std::move(look));
    } else {
      release(look);
    }
  }
  looks_ = std::move(others);
}

TimeNs FirstLooks::known_until(TimeNs now) const {
  TimeNs known = now;
  for (const Look& each : looks_) {
    if (counts(each, now)) known = std::min(known, each.since);
  }
  return std::max(known, now - kMostHeldBack);
}

bool FirstLooks::is_awaited(TimeNs now) const {
  return std::ranges::any_of(
      looks_, [now](const Look& each) { return counts(each, now) && each.since > now - kMostHeldBack; });
}

}  // namespace tailor::session
