#include "daemon/query/reports/memory_report.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "daemon/query/reports/memory_spreads.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/no_sample.h"

namespace tailor::query {
namespace {

struct RowSum {
  Amount amount;
  double latency = 0, latency_samples = 0;
  std::array<double, kMemoryLevels> served_by{};
};

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

void add(RowSum& sum, const Cost& cost, double part, bool is_shared) {
  sum.amount.add(cost.cell, cost.key, part, is_shared);
  sum.latency += cost.cell.latency * part;
  sum.latency_samples += static_cast<double>(cost.cell.latency_samples) * part;
  sum.served_by[static_cast<std::size_t>(cost.key.served_by)] +=
      static_cast<double>(cost.cell.samples) * part;
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

MemoryRow row_of(const Profile& profile, const MemoryKey& key, const RowSum& sum) {
  MemoryRow row;
  std::tie(row.process, row.plan, row.operator_id, row.operator_name, row.region) = key;
  if (const PlanModel* plan = profile.plan(row.process, row.plan);
      plan != nullptr && row.operator_id != kNoComponent) {
    row.operator_name = plan->component_name(0, row.operator_id);
  }
  row.region_name = row.region == 0 ? "unknown memory" : profile.region_name(row.process, row.region);
  row.latency = sum.latency_samples > 0 ? sum.latency / sum.latency_samples : 0;
  row.latency_samples = sum.latency_samples;
  row.served_by = sum.served_by;
  return row;
}

}  // namespace

Scale scale_of(const MemoryReport& report) {
  return Scale(report.total, 0, report.spread, report.effective_samples);
}

Result<MemoryReport> memory_report(const Profile& profile, const Selection& selection) {
  const auto source = choose_source(profile, selection);
  if (!source) return source.error();
  const auto totals = totals_by_source(profile, selection);
  const auto total = totals.find(*source);
  if (total == totals.end()) return no_sample(profile, selection);
  MemoryReport report;
  report.source = profile.source(*source);
  report.total = total->second;
  MemorySpreads spreads = memory_spreads(profile, selection, *source, report.total);
  report.spread = spreads.everything;
  report.effective_samples = spreads.average;
  report.kind_spreads = std::move(spreads.kinds);
  std::map<MemoryKey, RowSum> sums;
  for_each_cost(profile, selection, *source, [&](const Cost& cost) {
    count(report, cost.key, cost.cell);
    if (!has_address(cost.key)) return;
    for_each_memory_row(profile, cost, [&](const MemoryKey& row, double part, bool is_shared) {
      add(sums[row], cost, part, is_shared);
    });
  });
  const Scale scale = scale_of(report);
  for (const auto& [key, sum] : sums) {
    MemoryRow& row = report.rows.emplace_back(row_of(profile, key, sum));
    row.cost = scale(sum.amount, spread_in(report.spread, spreads.rows, key));
  }
  std::sort(report.rows.begin(), report.rows.end(), [](const MemoryRow& a, const MemoryRow& b) {
    const double left = a.cost.amount.weight, right = b.cost.amount.weight;
    return left != right
               ? left > right
               : std::tie(a.operator_name, a.region_name) < std::tie(b.operator_name, b.region_name);
  });
  return report;
}

}  // namespace tailor::query
