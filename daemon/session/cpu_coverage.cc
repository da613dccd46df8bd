#include "daemon/session/cpu_coverage.h"

namespace tailor::session {
namespace {

void add_growth(const CpuCoverage& before, const CpuCoverage& after, CpuCoverage& to) {
  to.used += after.used - before.used;
  to.sampled += after.sampled - before.sampled;
  to.unsampled += after.unsampled - before.unsampled;
}

}  // namespace

void CpuCoverageOfProcesses::begin(ProcessId process, CpuCoverage before) {
  processes_.try_emplace(process, Process{before, before}).first->second.over = false;
}

void CpuCoverageOfProcesses::look(ProcessId process, TimeNs now, CpuCoverage used) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.looked_at != kTimeMax) return;
  found->second.looked = used;
  found->second.looked_at = now;
}

void CpuCoverageOfProcesses::settle(
    TimeNs watermark, const std::function<std::optional<std::uint64_t>(ProcessId)>& sampled_of) {
  for (auto& [process, each] : processes_) {
    if (each.looked_at > watermark) continue;
    each.looked_at = kTimeMax;
    const std::optional<std::uint64_t> sampled = sampled_of(process);
    if (!sampled) continue;
    each.settled = each.looked;
    each.settled.sampled = *sampled;
  }
  std::erase_if(processes_, [this](const auto& entry) {
    const Process& each = entry.second;
    if (!each.over || each.looked_at != kTimeMax) return false;
    add_growth(each.before, each.settled, ended_);
    return true;
  });
}

void CpuCoverageOfProcesses::end(ProcessId process) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second.over = true;
}

void CpuCoverageOfProcesses::close(ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  add_growth(found->second.before, found->second.settled, ended_);
  processes_.erase(found);
}

CpuCoverage CpuCoverageOfProcesses::sum() const {
  CpuCoverage sum = ended_;
  for (const auto& [process, each] : processes_) {
    add_growth(each.before, each.settled, sum);
  }
  return sum;
}

}  // namespace tailor::session
