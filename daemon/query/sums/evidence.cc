#include "daemon/query/sums/evidence.h"

namespace tailor::query {
namespace {

void add_plan_cost(const Cost& cost, Evidence& evidence) {
  const auto samples = static_cast<double>(cost.cell.samples);
  for (const Share& owner : cost.lineage->front()) {
    const double part = samples * owner.part;
    const bool inside = cost.key.execution != 0;
    if (owner.id == kNoComponent) {
      if (inside) evidence.windows.unattributed += part;
      continue;
    }
    if (inside) evidence.windows.in_operators += part;
    evidence.operators[{cost.key.process, cost.key.plan}][owner.id][cost.key.how] += part;
  }
}

bool by_address(profile::How how) {
  return how == profile::How::kCode || how == profile::How::kKernelCode || how == profile::How::kCallchain;
}

}  // namespace

Evidence gather_evidence(const Profile& profile, const Selection& selection, std::uint16_t source) {
  Evidence evidence;
  for_each_cost(profile, selection, source, [&](const Cost& cost) {
    const auto samples = static_cast<double>(cost.cell.samples);
    evidence.all[cost.key.how] += samples;
    if (by_address(cost.key.how)) evidence.by_link[cost.key.quality] += samples;
    const bool inside = cost.key.execution != 0;
    if (inside) evidence.windows.samples += samples;
    switch (cost.what) {
      case Cost::Class::kPlan:
        add_plan_cost(cost, evidence);
        return;
      case Cost::Class::kComponent:
        if (inside) evidence.windows.in_components += samples;
        return;
      case Cost::Class::kUnattributed:
        if (inside) evidence.windows.unattributed += samples;
    }
  });
  return evidence;
}

}  // namespace tailor::query
