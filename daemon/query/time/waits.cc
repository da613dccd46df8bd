#include "daemon/query/time/waits.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tailor::query {
namespace {

using Key = std::tuple<ProcessId, PlanId, ComponentId, std::string>;

void add(WaitRow& row, const Profile& profile, const Cost& cost, double part) {
  const double ns = cost.cell.weight * part;
  row.waits += static_cast<double>(cost.cell.samples) * part;
  row.ns += ns;
  const auto wait = static_cast<std::size_t>(cost.key.wait);
  row.ns_of[wait] += ns;
  if (cost.key.engine_wait == 0) {
    row.ns_without_event[wait] += ns;
  } else {
    row.ns_of_event[profile.wait_event(cost.key.engine_wait)] += ns;
  }
}

void add_to_owners(std::map<Key, WaitRow>& rows, const Profile& profile, const Cost& cost) {
  auto row = [&](PlanId plan, ComponentId id, std::string name) -> WaitRow& {
    WaitRow& found = rows[{cost.key.process, plan, id, name}];
    found.process = cost.key.process;
    found.plan = plan;
    found.operator_id = id;
    found.name = std::move(name);
    return found;
  };
  if (cost.what == Cost::Class::kComponent) {
    return add(
        row(0, kNoComponent, profile.engine_component_name(cost.key.process, cost.key.engine_component)),
        profile, cost, 1);
  }
  if (cost.what != Cost::Class::kPlan)
    return add(row(0, kNoComponent, std::string(cost.reason.text)), profile, cost, 1);
  for (const Share& owner : cost.lineage->front()) {
    const bool owned = owner.id != kNoComponent;
    add(row(owned ? cost.key.plan : 0, owner.id,
            owned ? cost.plan->component_name(0, owner.id) : std::string(cost.reason.text)),
        profile, cost, owner.part);
  }
}

}  // namespace

std::string_view wait_key(profile::Wait wait) {
  switch (wait) {
    case profile::Wait::kRunnable:
      return "run_queue";
    case profile::Wait::kLock:
      return "lock";
    case profile::Wait::kIo:
      return "io";
    case profile::Wait::kPage:
      return "page_fault";
    case profile::Wait::kSleep:
      return "sleep";
    case profile::Wait::kPeer:
      return "peer";
    default:
      return "unknown";
  }
}

std::optional<WaitLane> wait_lane(const Profile& profile, const Selection& selection) {
  for (const auto& [index, total] : totals_by_source(profile, selection)) {
    WaitLane lane;
    lane.source = profile.source(index);
    if (lane.source.unit != profile::Unit::kNsOffCpu) continue;
    std::map<Key, WaitRow> rows;
    for_each_cost(profile, selection, index, [&](const Cost& cost) {
      add(lane.total, profile, cost, 1);
      add_to_owners(rows, profile, cost);
    });
    for (auto& [key, row] : rows) lane.rows.push_back(std::move(row));
    std::ranges::stable_sort(lane.rows, std::ranges::greater{}, &WaitRow::ns);
    return lane;
  }
  return std::nullopt;
}

}  // namespace tailor::query
