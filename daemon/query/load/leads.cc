#include "daemon/query/load/leads.h"

#include <set>
#include <vector>

#include "daemon/profile/leader.h"

namespace tailor::query {

Leads find_leads(const ExecutionTable& executions) {
  const std::vector<profile::ExecutionRecord> workers = executions.labelled(profile::kLeaderLabel);
  std::set<ExecutionId> wanted;
  for (const profile::ExecutionRecord& worker : workers) {
    if (const auto id = profile::leader_of(worker)) wanted.insert(*id);
  }
  Leads leads;
  if (wanted.empty()) return leads;
  // A worker leads nobody: so no chain of them can close.
  const ExecutionTable::ByIdentity leaders = executions.with_ids(wanted);
  for (const profile::ExecutionRecord& worker : workers) {
    const auto id = profile::leader_of(worker);
    const auto leader = id ? leaders.find({*id, worker.uid}) : leaders.end();
    if (leader == leaders.end() || !profile::may_lead(leader->second, worker)) continue;
    leads[{worker.process, worker.handle}] = {leader->second.process, leader->second.handle, worker.plan,
                                              leader->second.plan};
  }
  return leads;
}

}  // namespace tailor::query
