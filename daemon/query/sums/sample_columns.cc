#include "daemon/query/sums/sample_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "daemon/query/sums/keys.h"

namespace tailor::query {
namespace {

SampleCell cell_of(const Cost& cost) {
  SampleCell cell;
  cell.key = &cost.own_key;
  cell.plan_process = cost.key.process;
  cell.plan = cost.key.plan;
  cell.what = cost.what;
  if (cost.what == Cost::Class::kComponent) {
    cell.owner_key = component_key(cost.key.process, cost.key.engine_component);
  } else if (cost.what == Cost::Class::kUnattributed) {
    cell.owner_key = unattributed_key(cost.reason.key);
  } else {
    // Why the part that no operator owns has none.
    cell.owner_key = unattributed_key(cost.reason.key);
    for (LevelIndex level = 0; level < cost.lineage->size(); ++level)
      cell.levels.emplace_back(cost.plan->level_name(level), (*cost.lineage)[level]);
  }
  return cell;
}

// The part of a cell's key that a view shows: cells with the same one look the same there.
using Shown = std::pair<ProcessId, CellKey>;

Shown shown_of(const Cost& cost) {
  CellKey key = cost.key;
  key.execution = 0;
  key.region = 0;
  key.skid = 0;
  key.address_from = profile::AddressFrom::kNone;
  key.served_by = MemoryLevel::kUnknown;
  return {cost.own_key.process, key};
}

}  // namespace

Result<SliceColumns> slice_columns(const Profile& profile, const Selection& selection, std::size_t limit) {
  constexpr std::uint32_t kNot = UINT32_MAX;
  SliceColumns out;
  std::vector<std::uint32_t> numbers(profile.cells().size(), kNot);
  std::map<Shown, std::uint32_t> known;
  for (const auto& [source, total] : totals_by_source(profile, selection)) {
    if (selection.source && source != *selection.source) continue;
    out.sources.push_back(source);
    for_each_cost(profile, selection, source, [&](const Cost& cost) {
      const auto [number, added] =
          known.try_emplace(shown_of(cost), static_cast<std::uint32_t>(out.cells.size()));
      if (added) out.cells.push_back(cell_of(cost));
      const auto cell =
          std::ranges::lower_bound(profile.cells(), cost.own_key, {}, &Cells::value_type::first);
      numbers[static_cast<std::size_t>(cell - profile.cells().begin())] = number->second;
    });
  }
  TimeSlicer slicer(limit, profile.slice_ns());
  for (const SliceRow& row : profile.slices()) {
    if (numbers[row.cell] != kNot) slicer.add(row.slice * profile.slice_ns(), numbers[row.cell], row.sum);
  }
  if (slicer.overflows())
    return exhausted(fmt::format("even over the whole time there are more than {} different sums", limit));
  out.slice_ns = slicer.slice_ns();
  for (const SliceRow& row : slicer.take()) {
    out.time.push_back(row.slice * out.slice_ns);
    out.cell.push_back(row.cell);
    out.samples.push_back(row.sum.samples);
    out.weight.push_back(row.sum.weight);
    out.squares.push_back(static_cast<double>(row.sum.weight_squares));
  }
  return out;
}

Result<SampleColumns> sample_columns(const Profile& profile, const Selection& selection, std::size_t limit,
                                     const std::function<bool(const TimedSample&)>& keep) {
  SampleColumns out;
  std::unordered_map<const CellKey*, std::uint32_t> numbers;
  for (const auto& [source, total] : totals_by_source(profile, selection)) {
    if (selection.source && source != *selection.source) continue;
    out.sources.push_back(source);
    for_each_cost(profile, selection, source, [&](const Cost& cost) {
      numbers[&cost.own_key] = static_cast<std::uint32_t>(out.cells.size());
      out.cells.push_back(cell_of(cost));
    });
  }
  std::vector<std::pair<const TimedSample*, std::uint32_t>> found;
  for (const TimedSample& sample : profile.samples()) {
    const auto number = numbers.find(sample.key);
    if (number == numbers.end() || (keep && !keep(sample))) continue;
    found.emplace_back(&sample, number->second);
    if (found.size() > limit)
      return exhausted(
          fmt::format("there are more than {} samples: choose a shorter time, or a higher limit", limit));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first->time < b.first->time; });
  for (const auto& [sample, cell] : found) {
    out.time.push_back(sample->time);
    out.tid.push_back(sample->tid);
    out.weight.push_back(sample->weight);
    out.cell.push_back(cell);
  }
  return out;
}

}  // namespace tailor::query
