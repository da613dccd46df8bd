#include "daemon/store/summary.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tailor::store {
namespace {

void add(CostSum& to, const CostSum& from) {
  to.samples += from.samples;
  to.weight += from.weight;
}

using QueryHour = std::pair<Hour, std::string>;

// Weight by query and hour. Units do not compare: what costs much in one of them counts.
std::map<QueryHour, double> weights(const Summary& summary) {
  std::map<QueryHour, double> out;
  for (const auto& [key, sum] : summary.costs) {
    if (!key.fingerprint.empty()) out[{key.hour, key.fingerprint}] += sum.weight;
  }
  for (const auto& [key, sum] : summary.runs) out.try_emplace({key.hour, key.fingerprint}, 0);
  return out;
}

// The most expensive queries of every hour.
std::set<QueryHour> kept_queries(const Summary& summary, std::size_t most) {
  std::map<Hour, std::vector<std::pair<double, std::string>>> by_hour;
  for (const auto& [query, weight] : weights(summary))
    by_hour[query.first].emplace_back(-weight, query.second);
  std::set<QueryHour> kept;
  for (auto& [hour, queries] : by_hour) {
    const std::size_t count = std::min(most, queries.size());
    std::partial_sort(queries.begin(), queries.begin() + static_cast<std::ptrdiff_t>(count), queries.end());
    for (std::size_t i = 0; i < count; ++i) kept.emplace(hour, queries[i].second);
  }
  return kept;
}

CostKey without_names(CostKey key) {
  key.id = 0;
  key.name = kOther;
  key.kind = "";
  return key;
}

// Rows beyond the limit become one of their class and event.
void limit_rows(std::map<CostKey, CostSum>& costs, std::size_t most) {
  using Row = std::pair<double, CostKey>;
  std::map<QueryHour, std::vector<Row>> rows;
  for (const auto& [key, sum] : costs) rows[{key.hour, key.fingerprint}].emplace_back(-sum.weight, key);
  for (auto& [query, of_query] : rows) {
    if (of_query.size() <= most) continue;
    std::sort(of_query.begin(), of_query.end());
    for (std::size_t i = most; i < of_query.size(); ++i) {
      const CostKey other = without_names(of_query[i].second);
      if (other == of_query[i].second) continue;
      const auto moved = costs.extract(of_query[i].second);
      add(costs[other], moved.mapped());
    }
  }
}

}  // namespace

void add(RunSum& to, const RunSum& from) {
  to.executions += from.executions;
  to.failed += from.failed;
  to.elapsed_sum += from.elapsed_sum;
  to.elapsed_min = std::min(to.elapsed_min, from.elapsed_min);
  to.elapsed_max = std::max(to.elapsed_max, from.elapsed_max);
  to.elapsed.add(from.elapsed);
  to.rows_known += from.rows_known;
  // Engines may say any number.
  if (__builtin_add_overflow(to.rows, from.rows, &to.rows)) to.rows = UINT64_MAX;
}

void add(HourLoss& to, const HourLoss& from) {
  to.lost_ring += from.lost_ring;
  to.lost_hardware += from.lost_hardware;
  to.late += from.late;
  to.unwritten += from.unwritten;
}

void add(Summary& to, const Summary& from) {
  if (to.first == 0 || (from.first != 0 && from.first < to.first)) to.first = from.first;
  to.last = std::max(to.last, from.last);
  for (const auto& [key, sum] : from.costs) add(to.costs[key], sum);
  for (const auto& [key, sum] : from.runs) add(to.runs[key], sum);
  for (const auto& [hour, loss] : from.losses) add(to.losses[hour], loss);
  for (const auto& [key, names] : from.queries) to.queries.insert_or_assign(key, names);
}

Summary bounded(const Summary& summary, const SummaryLimits& limits) {
  Summary out;
  out.first = summary.first;
  out.last = summary.last;
  out.losses = summary.losses;
  const std::set<QueryHour> kept = kept_queries(summary, limits.queries);
  const auto fingerprint_of = [&](Hour hour, const std::string& own) {
    return own.empty() || kept.contains({hour, own}) ? own : std::string(kOther);
  };
  for (const auto& [key, sum] : summary.costs) {
    CostKey to = key;
    to.fingerprint = fingerprint_of(key.hour, key.fingerprint);
    // Operators of different queries have nothing in common but their kind.
    if (to.fingerprint != key.fingerprint && key.what == CostOf::kOperator) {
      to.id = 0;
      to.name = key.kind;
    }
    add(out.costs[to], sum);
  }
  limit_rows(out.costs, limits.rows_of_a_query);
  for (const auto& [key, sum] : summary.runs)
    add(out.runs[{key.hour, key.uid, fingerprint_of(key.hour, key.fingerprint)}], sum);
  std::set<std::string> told_apart;
  for (const auto& [hour, fingerprint] : kept) told_apart.insert(fingerprint);
  for (const auto& [key, names] : summary.queries) {
    if (told_apart.contains(key.fingerprint)) out.queries.emplace(key, names);
  }
  return out;
}

}  // namespace tailor::store
