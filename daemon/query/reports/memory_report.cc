#include "daemon/query/reports/memory_report.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/query/reports/row_spreads.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/no_sample.h"

namespace tailor::query {
namespace {

using RowKey = std::tuple<ProcessId, PlanId, ComponentId, std::string, std::uint32_t>;

struct RowSum {
  Amount amount;
  double latency = 0, latency_samples = 0;
  std::array<double, kMemoryLevels> served_by{};
};

bool has_address(const CellKey& key) {
  return key.address_from != profile::AddressFrom::kNone;
}

Result<std::uint16_t> choose_source(const Profile& profile, const Selection& selection) {
  std::map<std::uint16_t, std::uint64_t> addresses;
  for (const auto& [key, cell] : profile.cells()) {
    if (has_address(key)) addresses[key.source] += cell.samples;
  }
  std::uint16_t best = 0;
  std::uint64_t most = 0;
  for (const auto& [source, samples] : addresses) {
    const bool asked = !selection.source || *selection.source == source;
    if (asked && samples > most) std::tie(best, most) = std::pair(source, samples);
  }
  if (most > 0) return best;
  return not_found(
      "no sample here carries a data address: record with --memory, or an event that brings addresses "
      "(-e memory, cache or faults; `tailor events` lists them)");
}

void add(std::map<RowKey, RowSum>& sums, const Cost& cost, const Share& owner, std::string name,
         bool shared) {
  const bool owned = owner.id != kNoComponent;
  RowSum& sum = sums[{cost.key.process, owned ? cost.key.plan : 0, owner.id,
                      owned ? std::string() : std::move(name), cost.key.region}];
  sum.amount.add(cost.cell, cost.key, owner.part, shared);
  sum.latency += cost.cell.latency * owner.part;
  sum.latency_samples += static_cast<double>(cost.cell.latency_samples) * owner.part;
  sum.served_by[static_cast<std::size_t>(cost.key.served_by)] +=
      static_cast<double>(cost.cell.samples) * owner.part;
}

void add_row(std::map<RowKey, RowSum>& sums, const Profile& profile, const Cost& cost) {
  if (cost.what == Cost::Class::kPlan) {
    const Owners& owners = cost.lineage->front();
    for (const Share& owner : owners)
      add(sums, cost, owner, std::string(cost.reason.text), owners.size() > 1);
    return;
  }
  const bool component = cost.what == Cost::Class::kComponent;
  add(sums, cost, {kNoComponent, 1},
      component ? profile.engine_component_name(cost.key.process, cost.key.engine_component)
                : std::string(cost.reason.text),
      false);
}

void count(MemoryReport& report, const CellKey& key, const Cell& cell) {
  const auto samples = static_cast<double>(cell.samples);
  if (!key.kernel) report.user_samples += samples;
  const bool generated = key.how == profile::How::kCode && !key.kernel;
  if (generated) report.generated_samples += samples;
  if (!has_address(key)) {
    if (generated) report.lost += samples;
    return;
  }
  if (key.region != 0)
    (key.region < profile::kFirstMappedRegion ? report.in_regions : report.in_mappings) += samples;
  if (key.address_from == profile::AddressFrom::kSample) {
    report.recorded += samples;
    return;
  }
  report.decoded += samples;
  report.by_skid[std::min<std::size_t>(key.skid, report.by_skid.size() - 1)] += samples;
}

MemoryRow row_of(const Profile& profile, const RowKey& key, const RowSum& sum, const Scale& scale) {
  MemoryRow row;
  std::tie(row.process, row.plan, row.operator_id, row.operator_name, row.region) = key;
  if (const PlanModel* plan = profile.plan(row.process, row.plan);
      plan != nullptr && row.operator_id != kNoComponent) {
    row.operator_name = plan->component_name(0, row.operator_id);
  }
  row.region_name = row.region == 0 ? "unknown memory" : profile.region_name(row.process, row.region);
  row.cost = scale(sum.amount);
  row.latency = sum.latency_samples > 0 ? sum.latency / sum.latency_samples : 0;
  row.latency_samples = sum.latency_samples;
  row.served_by = sum.served_by;
  return row;
}

}  // namespace

Result<MemoryReport> memory_report(const Profile& profile, const Selection& selection) {
  const auto source = choose_source(profile, selection);
  if (!source) return source.error();
  const auto totals = totals_by_source(profile, selection);
  const auto total = totals.find(*source);
  if (total == totals.end()) return no_sample(profile, selection);
  MemoryReport report;
  report.source = profile.source(*source);
  report.total = total->second;
  // Intervals follow from the squares.
  const double worth = sample_worth(profile, selection, *source);
  report.total.weight_squares =
      worth > 0 ? report.total.weight_squares / worth : std::numeric_limits<double>::infinity();
  std::map<RowKey, RowSum> sums;
  for_each_cost(profile, selection, *source, [&](const Cost& cost) {
    count(report, cost.key, cost.cell);
    if (has_address(cost.key)) add_row(sums, profile, cost);
  });
  const Scale scale(report.total);
  for (const auto& [key, sum] : sums) report.rows.push_back(row_of(profile, key, sum, scale));
  std::sort(report.rows.begin(), report.rows.end(), [](const MemoryRow& a, const MemoryRow& b) {
    const double left = a.cost.amount.weight, right = b.cost.amount.weight;
    return left != right
               ? left > right
               : std::tie(a.operator_name, a.region_name) < std::tie(b.operator_name, b.region_name);
  });
  return report;
}

}  // namespace tailor::query
