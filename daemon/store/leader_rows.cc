#include "daemon/store/leader_rows.h"

#include "daemon/profile/leader.h"

namespace tailor::store {

std::optional<profile::ExecutionRecord> LeaderRows::leader(const ExecutionRow& row) {
  const auto id = profile::leader_of(row.record);
  if (!id) return std::nullopt;
  std::optional<profile::ExecutionRecord> first;
  for (profile::ExecutionRecord& each : find_(row.recording, *id)) {
    if (each.uid != row.record.uid || (first && first->heard <= each.heard)) continue;
    first = std::move(each);
  }
  return first && profile::may_lead(*first, row.record) ? first : std::nullopt;
}

bool LeaderRows::take(ExecutionRow& row) {
  if (const auto found = leader(row); found && found->begin <= row.record.begin) {
    const Key key{row.recording, found->process, found->handle};
    if (costs_.size() >= kMostLeaders && !costs_.contains(key)) return true;
    ExecutionCost& cost = costs_[key];
    cost.samples += row.cost.samples;
    cost.cpu_ns += row.cost.cpu_ns;
    return false;
  }
  const auto workers = costs_.find({row.recording, row.record.process, row.record.handle});
  if (workers == costs_.end()) return true;
  row.cost.samples += workers->second.samples;
  row.cost.cpu_ns += workers->second.cpu_ns;
  costs_.erase(workers);
  return true;
}

}  // namespace tailor::store
