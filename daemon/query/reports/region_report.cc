#include "daemon/query/reports/region_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tailor::query {
namespace {

using RegionKey = std::pair<ProcessId, std::uint32_t>;

// The patterns of all walks through the regions of one kind, by weight.
struct Walks {
  double all = 0;
  std::map<Pattern, double> by_pattern;
  std::map<std::uint64_t, double> by_stride;
  std::uint64_t regions = 0;

  void add(const Walk& walk, double weight) {
    all += weight;
    by_pattern[walk.pattern] += weight;
    if (walk.pattern == Pattern::kStrided) by_stride[walk.stride] += weight;
  }

  Walk most() const {
    double known = 0;
    auto best = by_pattern.end();
    for (auto at = by_pattern.begin(); at != by_pattern.end(); ++at) {
      if (at->first == Pattern::kUnknown) continue;
      known += at->second;
      if (best == by_pattern.end() || at->second > best->second) best = at;
    }
    if (best == by_pattern.end() || known < 0.5 * all) return {};
    if (best->second < 0.8 * known) return {Pattern::kMixed, 0};
    if (best->first != Pattern::kStrided) return {best->first, 0};
    const auto stride = std::max_element(by_stride.begin(), by_stride.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return {Pattern::kStrided, stride->first};
  }
};

// What one walk is: a region, a thread, an operator, an execution.
using WalkKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, ExecutionHandle>;

std::map<RegionKey, Walks> walks_of(const MemoryPoints& points) {
  struct OfOwner {
    Steps steps;
    double weight = 0;
  };
  std::map<std::pair<RegionKey, std::int32_t>, OfOwner> by_owner;
  std::map<WalkKey, std::uint64_t> last;
  for (std::size_t i = 0; i < points.time.size(); ++i) {
    if (points.region[i] < 0) continue;
    const RegionLife& life = points.regions[static_cast<std::size_t>(points.region[i])];
    OfOwner& sum = by_owner[{{life.process, life.kind}, points.owner[i]}];
    sum.weight += points.weight[i];
    // Points of a region are in the order of time.
    const WalkKey walk{points.region[i], points.tid[i], points.owner[i], points.execution[i]};
    const auto [before, first] = last.try_emplace(walk, points.offset[i]);
    if (!first) sum.steps.add(std::exchange(before->second, points.offset[i]), points.offset[i]);
  }
  std::map<RegionKey, Walks> out;
  for (const RegionLife& life : points.regions) ++out[{life.process, life.kind}].regions;
  for (const auto& [key, sum] : by_owner) out[key.first].add(sum.steps.walk(), sum.weight);
  return out;
}

}  // namespace

std::string_view role_key(std::uint32_t role) {
  // As enum tailor_region_role of the agent's ABI numbers them.
  static constexpr std::array<std::string_view, 9> kKeys = {
      "",          "column",           "hash table", "directory", "chunk",
      "histogram", "partition buffer", "sort run",   "output"};
  return role < kKeys.size() ? kKeys[role] : "";
}

std::vector<RegionRow> region_rows(const Profile& profile, const MemoryReport& report,
                                   const MemoryPoints& points) {
  struct Sum {
    Amount amount;
    double latency = 0, latency_samples = 0;
    RegionRow row;
  };
  std::map<RegionKey, Sum> sums;
  for (const MemoryRow& row : report.rows) {
    Sum& sum = sums[{row.process, row.region}];
    sum.row.name = row.region_name;
    sum.amount.add(row.cost.amount);
    sum.latency += row.latency * row.latency_samples;
    sum.latency_samples += row.latency_samples;
    for (std::size_t i = 0; i < row.served_by.size(); ++i) sum.row.served_by[i] += row.served_by[i];
  }
  const auto walks = walks_of(points);
  const Scale scale = scale_of(report);
  std::vector<RegionRow> rows;
  for (auto& [key, sum] : sums) {
    RegionRow row = std::move(sum.row);
    std::tie(row.process, row.kind) = key;
    if (const auto kind = profile.region_kinds().find(key); kind != profile.region_kinds().end())
      row.role = role_key(kind->second.role());
    row.cost = scale(sum.amount, spread_in(report.spread, report.kind_spreads, key));
    row.latency = sum.latency_samples > 0 ? sum.latency / sum.latency_samples : 0;
    if (const auto found = walks.find(key); found != walks.end()) {
      row.walk = found->second.most();
      row.regions = found->second.regions;
    }
    rows.push_back(std::move(row));
  }
  most_expensive_first(rows);
  return rows;
}

}  // namespace tailor::query
