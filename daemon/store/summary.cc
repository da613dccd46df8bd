#include "daemon/store/summary.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tailor::store {
namespace {

void add(CostSum& to, const CostSum& from) {
  to.add(from);
}

Hour hour_of(const CostKey& key) {
  return key.hour;
}
Hour hour_of(const RunKey& key) {
  return key.hour;
}
Hour hour_of(Hour hour) {
  return hour;
}

template <typename Key>
Key moved_to(Key key, Hour hour) {
  key.hour = hour;
  return key;
}
Hour moved_to(Hour /*from*/, Hour hour) {
  return hour;
}

// Rows are in the order of their hours.
template <typename Sums>
void make_days(Sums& sums, Hour until) {
  Sums days;
  for (auto row = sums.begin(); row != sums.end() && hour_of(row->first) < until;) {
    const Hour day = day_of(hour_of(row->first));
    if (day == hour_of(row->first)) {
      ++row;
      continue;
    }
    const auto node = sums.extract(row++);
    add(days[moved_to(node.key(), day)], node.mapped());
  }
  for (const auto& [key, sum] : days) add(sums[key], sum);
}

template <typename Sums>
void add_rows(Sums& to, const Sums& from, Hour days_until) {
  for (const auto& [key, sum] : from) {
    const Hour hour = hour_of(key);
    add(hour < days_until ? to[moved_to(key, day_of(hour))] : to[key], sum);
  }
}

using QueryHour = std::pair<Hour, std::string>;

// Weight by query and hour. Units do not compare: what costs much in one of them counts.
std::map<QueryHour, double> weights(const Summary& summary) {
  std::map<QueryHour, double> out;
  for (const auto& [key, sum] : summary.costs) {
    if (!key.fingerprint.empty()) out[{key.hour, key.fingerprint}] += to_number(sum.weight);
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
  key.plan.reset();
  return key;
}

// Rows beyond the limit become one of their class and event.
void limit_rows(std::map<CostKey, CostSum>& costs, std::size_t most) {
  using Row = std::pair<double, CostKey>;
  std::map<QueryHour, std::vector<Row>> rows;
  for (const auto& [key, sum] : costs)
    rows[{key.hour, key.fingerprint}].emplace_back(-to_number(sum.weight), key);
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
  // Engines may say any number of runs. Then their elapsed times are not known, rather than those of some.
  const bool fits = from.executions <= UINT64_MAX - to.executions;
  profile::add_bounded(to.executions, from.executions);
  profile::add_bounded(to.failed, from.failed);
  profile::add_bounded(to.elapsed_sum, from.elapsed_sum);
  to.elapsed_min = std::min(to.elapsed_min, from.elapsed_min);
  to.elapsed_max = std::max(to.elapsed_max, from.elapsed_max);
  if (fits) {
    to.elapsed.add(from.elapsed);
  } else {
    to.elapsed = {};
  }
  profile::add_bounded(to.rows_known, from.rows_known);
  profile::add_bounded(to.rows, from.rows);
  profile::add_bounded(to.untimed, from.untimed);
  profile::add_bounded(to.not_drawn, from.not_drawn);
}

void add(HourLoss& to, const HourLoss& from) {
  profile::add_bounded(to.lost_ring, from.lost_ring);
  profile::add_bounded(to.lost_hardware, from.lost_hardware);
  profile::add_bounded(to.late, from.late);
  profile::add_bounded(to.unwritten, from.unwritten);
}

void add(Summary& to, const Summary& from) {
  if (to.first == 0 || (from.first != 0 && from.first < to.first)) to.first = from.first;
  to.last = std::max(to.last, from.last);
  roll_up(to, from.days_until);
  add_rows(to.costs, from.costs, to.days_until);
  add_rows(to.runs, from.runs, to.days_until);
  add_rows(to.losses, from.losses, to.days_until);
  for (const auto& [key, names] : from.queries) to.queries.insert_or_assign(key, names);
}

void roll_up(Summary& summary, Hour until) {
  if (day_of(until) <= summary.days_until) return;
  summary.days_until = day_of(until);
  make_days(summary.costs, summary.days_until);
  make_days(summary.runs, summary.days_until);
  make_days(summary.losses, summary.days_until);
}

Summary bounded(const Summary& summary, const SummaryLimits& limits) {
  Summary out;
  out.first = summary.first;
  out.last = summary.last;
  out.days_until = summary.days_until;
  out.losses = summary.losses;
  const std::set<QueryHour> kept = kept_queries(summary, limits.queries);
  const auto fingerprint_of = [&](Hour hour, const std::string& own) {
    return own.empty() || kept.contains({hour, own}) ? own : std::string(kOther);
  };
  for (const auto& [key, sum] : summary.costs) {
    CostKey to = key;
    to.fingerprint = fingerprint_of(key.hour, key.fingerprint);
    const bool is_other = to.fingerprint != key.fingerprint;
    if (is_other) to.plan.reset();
    // Operators of different queries have nothing in common but their kind.
    if (is_other && key.what == CostOf::kOperator) {
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
