#include "daemon/profile/accounting.h"

#include <algorithm>
#include <cstddef>

namespace tailor::profile {

CpuLosses& Accounting::of_cpu(std::uint32_t cpu) {
  auto at = std::lower_bound(cpus.begin(), cpus.end(), cpu,
                             [](const CpuLosses& each, std::uint32_t wanted) { return each.cpu < wanted; });
  if (at == cpus.end() || at->cpu != cpu) at = cpus.insert(at, {cpu});
  return *at;
}

void add(Accounting& to, const Accounting& from) {
  to.received += from.received;
  to.attributed += from.attributed;
  to.unattributed += from.unattributed;
  to.filtered += from.filtered;
  to.late += from.late;
  to.lost_ring += from.lost_ring;
  to.lost_hardware += from.lost_hardware;
  to.throttled += from.throttled;
  to.gap_ns += from.gap_ns;
  to.log_records += from.log_records;
  to.log_lost += from.log_lost;
  to.messages += from.messages;
  to.messages_rejected += from.messages_rejected;
  to.agent_dropped += from.agent_dropped;
  to.on_cpu_ns += from.on_cpu_ns;
  for (const CpuLosses& cpu : from.cpus) {
    CpuLosses& sum = to.of_cpu(cpu.cpu);
    sum.lost_ring += cpu.lost_ring;
    sum.lost_hardware += cpu.lost_hardware;
    sum.throttled += cpu.throttled;
    sum.gap_ns += cpu.gap_ns;
  }
  to.forced += from.forced;
  to.undecoded += from.undecoded;
  to.cut_bytes += from.cut_bytes;
  to.broken_rings += from.broken_rings;
  to.records_filtered += from.records_filtered;
  to.waits_abandoned += from.waits_abandoned;
  to.counted_by_other += from.counted_by_other;
  to.executions_unknown += from.executions_unknown;
  to.not_drawn += from.not_drawn;
  to.not_drawn_ns += from.not_drawn_ns;
  to.slot_states += from.slot_states;
  to.slots_missing += from.slots_missing;
  to.slots_unread += from.slots_unread;
  to.codes_without_plan += from.codes_without_plan;
  to.agent_unsent += from.agent_unsent;
  for (std::size_t end = 0; end < kWalkEnds; ++end) to.walks[end] += from.walks[end];
}

}  // namespace tailor::profile
