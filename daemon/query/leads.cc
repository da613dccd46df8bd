#include "daemon/query/leads.h"

#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tailor::query {
namespace {

std::optional<ExecutionId> parse(const std::string& text) {
  ExecutionId id;
  if (text.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const char* at = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, id.bytes[i], 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
  }
  return id;
}

std::optional<ExecutionId> leader_of(const profile::ExecutionRecord& execution) {
  for (const auto& [key, value] : execution.labels) {
    if (key == kLeaderLabel) return parse(value);
  }
  return std::nullopt;
}

}  // namespace

Leads find_leads(const ExecutionTable& executions) {
  const std::vector<profile::ExecutionRecord> workers = executions.labelled(kLeaderLabel);
  std::set<ExecutionId> wanted;
  for (const profile::ExecutionRecord& worker : workers) {
    if (const auto id = leader_of(worker)) wanted.insert(*id);
  }
  Leads leads;
  if (wanted.empty()) return leads;
  // A worker leads nobody: so no chain of them can close.
  std::map<ExecutionId, profile::ExecutionRecord> leaders = executions.with_ids(wanted);
  for (const profile::ExecutionRecord& worker : workers) leaders.erase(worker.id);
  for (const profile::ExecutionRecord& worker : workers) {
    const auto id = leader_of(worker);
    const auto leader = id ? leaders.find(*id) : leaders.end();
    if (leader == leaders.end()) continue;
    leads[{worker.process, worker.handle}] = {leader->second.process, leader->second.handle, worker.plan,
                                              leader->second.plan};
  }
  return leads;
}

}  // namespace tailor::query
