// The accounting of a recording as JSON, the same in every report (docs/report-json.md).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/profile/accounting.h"
#include "daemon/profile/walk_end.h"
#include "daemon/query/load/accounting.h"
#include "daemon/query/sums/terms.h"

namespace tailor::query {

inline nlohmann::ordered_json accounting_json(const Accounting& account) {
  const profile::Accounting& total = account.total;
  nlohmann::ordered_json out = {{"scope", "recording"},           {"received", total.received},
                                {"attributed", total.attributed}, {"unattributed", total.unattributed},
                                {"filtered", total.filtered},     {"late", total.late},
                                {"lost_ring", total.lost_ring},   {"lost_hardware", total.lost_hardware},
                                {"throttled", total.throttled},   {"gap_ns", total.gap_ns}};
  out["by_cpu"] = nlohmann::ordered_json::array();
  for (const profile::CpuLosses& each : total.cpus) {
    nlohmann::ordered_json cpu =
        each.cpu == profile::kEveryCpu ? nlohmann::ordered_json("all") : nlohmann::ordered_json(each.cpu);
    out["by_cpu"].push_back({{"cpu", cpu},
                             {"lost_ring", each.lost_ring},
                             {"lost_hardware", each.lost_hardware},
                             {"throttled", each.throttled},
                             {"gap_ns", each.gap_ns}});
  }
  out["unwritten_samples"] = account.unwritten_samples;
  out["removed_samples"] = account.removed_samples;
  out["lost_share"] = account.lost_share();
  out["records_filtered"] = total.records_filtered;
  out["records_undecoded"] = total.undecoded;
  out["bytes_cut"] = total.cut_bytes;
  out["rings_broken"] = total.broken_rings;
  out["events_forced"] = total.forced;
  out["waits_abandoned"] = total.waits_abandoned;
  out["executions_unknown"] = total.executions_unknown;
  out["counted_by_other"] = total.counted_by_other;
  out["not_drawn"] = total.not_drawn;
  out["not_drawn_ns"] = total.not_drawn_ns;
  out["slot_states"] = total.slot_states;
  out["slots_missing"] = total.slots_missing;
  out["slots_unread"] = total.slots_unread;
  out["stacks_walked"] = account.stacks_walked();
  out["stacks_without_begin_share"] = account.share_without_begin();
  for (std::size_t end = 0; end < profile::kWalkEnds; ++end)
    out["stacks_" + std::string(term(static_cast<profile::WalkEnd>(end)).key)] = total.walks[end];
  out["log_records"] = total.log_records;
  out["log_records_lost"] = total.log_lost;
  out["messages"] = total.messages;
  out["messages_rejected"] = total.messages_rejected;
  out["codes_without_plan"] = total.codes_without_plan;
  out["messages_dropped"] = total.agent_dropped;
  out["messages_unsent"] = total.agent_unsent;
  return out;
}

}  // namespace tailor::query
