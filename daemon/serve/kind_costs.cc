#include "daemon/serve/kind_costs.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "daemon/query/sums/costs.h"
#include "daemon/serve/short_text.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kMostKindName = 128;  // bytes
constexpr std::size_t kMostKindSeries = 12;
constexpr std::string_view kPrefixOfKinds = "kind:";

std::string name_of(const std::string& key) {
  return key.starts_with(kPrefixOfKinds) ? key.substr(kPrefixOfKinds.size()) : key;
}

}  // namespace

void spread(std::vector<double>& buckets, double cost, double begin, double end, double width) {
  const double length = std::max(end - begin, 1.0);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double left = static_cast<double>(i) * width, right = left + width;
    const double inside = std::min(end, right) - std::max(begin, left);
    if (inside > 0) buckets[i] += cost * std::min(1.0, inside / length);
  }
}

std::string kind_key(const std::string& kind) {
  return std::string(kPrefixOfKinds) + (kind.empty() ? "unknown" : short_text(kind, kMostKindName));
}

bool KindCosts::sees(const query::Profile& profile, const query::CellKey& key) const {
  if (access_.see_all) return true;
  const profile::ExecutionRecord* record =
      key.execution == 0 ? nullptr : profile.execution(key.process, key.execution);
  return record != nullptr && access_.sees(*record);
}

std::vector<double>& KindCosts::series_of(std::string key) {
  std::vector<double>& series = series_[bounded_key(series_, std::move(key))];
  series.resize(buckets_);
  return series;
}

void KindCosts::add(const query::Profile& profile) {
  std::vector<std::vector<Part>> parts(profile.cells().size());
  for (const auto& [index, total] : query::totals_by_source(profile, {})) {
    if (profile.source(index).unit != profile::Unit::kNsOnCpu) continue;
    query::for_each_cost(profile, {}, index, [&](const query::Cost& cost) {
      if (!sees(profile, cost.key)) return;
      const auto cell =
          std::ranges::lower_bound(profile.cells(), cost.own_key, {}, &query::Cells::value_type::first);
      std::vector<Part>& of_cell = parts[static_cast<std::size_t>(cell - profile.cells().begin())];
      if (cost.what != query::Cost::Class::kPlan) {
        const bool component = cost.what == query::Cost::Class::kComponent;
        of_cell.push_back({&series_of(component ? kComponentKey : kUnattributedKey), 1});
        return;
      }
      for (const query::Share& share : cost.lineage->front()) {
        const v1::Component* op = share.id == kNoComponent ? nullptr : cost.plan->component(0, share.id);
        of_cell.push_back({&series_of(share.id == kNoComponent ? kUnattributedKey
                                                               : kind_key(op == nullptr ? "" : op->kind())),
                           share.part});
      }
    });
  }
  const double width = static_cast<double>(to_ns_ - from_ns_) / buckets_;
  for (const query::SliceRow& row : profile.slices()) {
    if (parts[row.cell].empty()) continue;
    const TimeNs time = row.slice * profile.slice_ns();
    const double begin =
        static_cast<double>(profile.recording().wall_of(time)) - static_cast<double>(from_ns_);
    const double end = begin + static_cast<double>(profile.slice_ns());
    if (end <= 0 || begin >= width * buckets_) continue;
    for (const Part& part : parts[row.cell])
      spread(*part.series, row.sum.weight * part.part, begin, end, width);
  }
}

query::Json KindCosts::json() const {
  struct Row {
    double total;
    std::string key;
    std::vector<double> values;
  };
  std::vector<Row> kinds;
  Row other{0, kOtherKey, std::vector<double>(buckets_)};
  for (const auto& [key, values] : series_) {
    if (!key.starts_with(kPrefixOfKinds)) continue;
    kinds.push_back({std::accumulate(values.begin(), values.end(), 0.0), key, values});
  }
  std::ranges::stable_sort(kinds, std::greater(), &Row::total);
  bool others = kinds.size() > kMostKindSeries;
  const auto into_other = [&](const std::vector<double>& values) {
    for (std::size_t i = 0; i < buckets_; ++i) other.values[i] += values[i];
  };
  for (std::size_t i = kMostKindSeries; i < kinds.size(); ++i) into_other(kinds[i].values);
  kinds.resize(std::min(kinds.size(), kMostKindSeries));
  if (const auto found = series_.find(kOtherKey); found != series_.end()) {
    into_other(found->second);
    others = true;
  }
  if (others) kinds.push_back(std::move(other));
  for (const char* key : {kComponentKey, kUnattributedKey}) {
    if (const auto found = series_.find(key); found != series_.end())
      kinds.push_back({0, key, found->second});
  }
  query::Json out = query::Json::array();
  for (Row& row : kinds) {
    // Samples around the time are read too.
    if (std::ranges::all_of(row.values, [](double ns) { return ns == 0; })) continue;
    out.push_back({{"key", row.key}, {"name", name_of(row.key)}, {"cpu_ns", std::move(row.values)}});
  }
  return out;
}

}  // namespace tailor::serve
