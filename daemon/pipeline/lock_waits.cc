#include "daemon/pipeline/lock_waits.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace tailor::pipeline {
namespace {

// Of an execution that goes on to wait for the same.
constexpr TimeNs kTellEveryNs = 1'000'000'000;

// For which the process works at `time`, NULL: for none, or it is not sure. An engine whose processes wait
// for each other has one thread in each, which has the number of the process.
RunningExecution* worked_for(ProcessEntry& entry, TimeNs time) {
  if (entry.settled < time) return nullptr;  // later marks may still say something else
  const process::ThreadContext context = entry.state.context_at(entry.id().pid, time);
  if (context.execution_lost) return nullptr;
  const auto found = entry.running.find(context.execution);
  return found == entry.running.end() ? nullptr : &found->second;
}

// What was seen of one holder: from the first to the last time.
void note_blocker(RunningExecution& waits, std::uint64_t since_tsc, const profile::Blocker& blocker) {
  std::vector<profile::Blocker>& seen = waits.blockers.seen;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].process != blocker.process || waits.blocked_since[i] != since_tsc) continue;
    seen[i].to = std::max(seen[i].to, blocker.to);
    // The holder's marks of then may be read later than those of who waits.
    if (seen[i].execution == ExecutionId{}) seen[i].execution = blocker.execution;
    return;
  }
  if (seen.size() >= profile::kMostBlockers) {
    ++waits.blockers.left_out;
    return;
  }
  seen.push_back(blocker);
  waits.blocked_since.push_back(since_tsc);
}

std::shared_ptr<const profile::Blockers> in_order(profile::Blockers blockers) {
  std::ranges::stable_sort(blockers.seen, {}, &profile::Blocker::from);
  return std::make_shared<const profile::Blockers>(std::move(blockers));
}

}  // namespace

void LockWaits::met(const ProcessEntry& entry, std::uint32_t engine_pid) {
  if (engine_pid == 0) return;
  if (processes_.size() >= forget_at_) forget_those_gone();
  std::set<ProcessId>& ids = processes_[{entry.uid, engine_pid}];
  if (ids.size() >= kMostOfOnePid) forget_those_gone(ids);
  if (ids.size() < kMostOfOnePid) ids.insert(entry.id());
}

void LockWaits::forget_those_gone(std::set<ProcessId>& ids) {
  std::erase_if(ids, [&](ProcessId id) { return table_.find(id) == nullptr; });
}

// No more stay than there are processes.
void LockWaits::forget_those_gone() {
  for (auto& [key, ids] : processes_) forget_those_gone(ids);
  std::erase_if(processes_, [](const auto& each) { return each.second.empty(); });
  forget_at_ = 1024 + 2 * processes_.size();
}

// Of containers with pid namespaces of their own several may have the pid: they are in other cgroups.
ProcessEntry* LockWaits::find(const ProcessEntry& watcher, std::uint32_t pid) {
  const auto known = processes_.find({watcher.uid, pid});
  if (known == processes_.end()) return nullptr;
  ProcessEntry* found = nullptr;
  for (const ProcessId id : known->second) {
    ProcessEntry* entry = table_.find(id);
    const bool is_of_engine = entry != nullptr && entry->connection != 0 && entry->uid == watcher.uid &&
                              entry->record.cgroup == watcher.record.cgroup &&
                              entry->record.engine_name == watcher.record.engine_name;
    if (!is_of_engine) continue;
    if (found != nullptr) return nullptr;
    found = entry;
  }
  return found;
}

RunningExecution* LockWaits::take(const ProcessEntry& watcher, TimeNs time, TimeNs since,
                                  const v1::Blocked& said) {
  ProcessEntry* waits = find(watcher, said.pid());
  if (waits == nullptr || since > time) return nullptr;
  RunningExecution* execution = worked_for(*waits, since);
  if (execution == nullptr) return nullptr;
  const std::size_t before = execution->blockers.seen.size();
  bool noted = false;
  for (const std::uint32_t pid : said.holders()) {
    ProcessEntry* holder = find(watcher, pid);
    if (holder == nullptr || holder == waits) continue;
    noted = true;
    const RunningExecution* of_holder = worked_for(*holder, since);
    note_blocker(*execution, said.since_tsc(),
                 {holder->id(), of_holder == nullptr ? ExecutionId{} : of_holder->record.id, since, time});
  }
  if (!noted) return nullptr;
  const bool is_new = execution->blockers.seen.size() > before;
  const TimeNs told = execution->blockers_told;
  if (!is_new && told != kTimeMin && time - told < kTellEveryNs) return nullptr;
  execution->blockers_told = time;
  execution->record.blockers = in_order(execution->blockers);
  return execution;
}

void end_blockers(RunningExecution& execution) {
  profile::Blockers& blockers = execution.blockers;
  for (profile::Blocker& each : blockers.seen) each.to = std::min(each.to, execution.record.end);
  std::erase_if(blockers.seen, [](const profile::Blocker& each) { return each.from > each.to; });
  execution.blocked_since.clear();
  execution.record.blockers = blockers.seen.empty() ? nullptr : in_order(std::exchange(blockers, {}));
}

}  // namespace tailor::pipeline
