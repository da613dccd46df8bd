#include "daemon/query/sums/without_sample.h"

#include <algorithm>
#include <vector>

#include "daemon/query/load/damage.h"

namespace tailor::query {
namespace {

using Sampled = std::vector<InProcess<ExecutionHandle>>;

// Sorted. A worker's samples are its leader's.
Sampled sampled_executions(const Profile& profile, std::uint16_t source) {
  Sampled out;
  for (const auto& [key, cell] : profile.cells()) {
    if (key.source != source || key.execution == 0) continue;
    const auto execution = profile.led_by(key.process, key.execution);
    if (out.empty() || out.back() != execution) out.push_back(execution);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::optional<std::map<InProcess<PlanId>, std::uint64_t>> executions_without_sample(
    const Profile& profile, const Selection& selection, std::uint16_t source) {
  if (!profile.narrowed_to().empty() || !profile.left_out().empty() || is_damaged(profile))
    return std::nullopt;
  const Sampled sampled = sampled_executions(profile, source);
  std::map<InProcess<PlanId>, std::uint64_t> out;
  profile.executions().visit([&](const ExecutionTable::Brief& each) {
    const InProcess<ExecutionHandle> own(each.process, each.handle);
    if (each.plan == 0 || !each.drawn || !selected(selection, each.process, each.handle)) return;
    if (std::ranges::binary_search(sampled, own) || profile.led_by(each.process, each.handle) != own) return;
    out[{each.process, each.plan}] += each.runs;
  });
  return out;
}

}  // namespace tailor::query
