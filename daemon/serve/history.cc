// Queries and the host over many executions.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/query/keys.h"
#include "daemon/redact/sql_text.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/service.h"

namespace tailor::serve {
namespace {

// Series of a picture: more are added up in "other".
constexpr std::size_t kMostSeries = 12;

struct QuerySum {
  std::string name, text, last_execution;
  std::uint64_t executions = 0, samples = 0, ended = 0;
  double cpu_ns = 0, elapsed_sum = 0, elapsed_min = 0, elapsed_max = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;

  void add(const store::ExecutionRow& row) {
    ++executions;
    samples += row.cost.samples;
    cpu_ns += row.cost.cpu_ns;
    if (row.wall_begin_ns >= last_ns) {
      last_ns = row.wall_begin_ns;
      last_execution = query::hex(row.record.id);
      name = row.plan_name;
      // Whatever the store holds: an overview shows no literals.
      text = redact::without_literals(label_of(row, "query"));
    }
    first_ns = std::min(first_ns, row.wall_begin_ns);
    if (row.record.end == kTimeMax) return;
    const auto elapsed = static_cast<double>(std::max<TimeNs>(0, row.record.end - row.record.begin));
    elapsed_min = ended == 0 ? elapsed : std::min(elapsed_min, elapsed);
    elapsed_max = std::max(elapsed_max, elapsed);
    elapsed_sum += elapsed;
    ++ended;
  }

  double elapsed_mean() const { return ended == 0 ? 0 : elapsed_sum / static_cast<double>(ended); }
};

Json sum_json(const std::string& fingerprint, const QuerySum& sum) {
  return {{"fingerprint", fingerprint},
          {"name", sum.name},
          {"text", sum.text},
          {"executions", sum.executions},
          {"cpu_ns", sum.cpu_ns},
          {"samples", sum.samples},
          {"elapsed_ns", {{"min", sum.elapsed_min}, {"mean", sum.elapsed_mean()}, {"max", sum.elapsed_max}}},
          {"first_ms", to_ms(sum.first_ns == UINT64_MAX ? 0 : sum.first_ns)},
          {"last_ms", to_ms(sum.last_ns)},
          {"last_execution", sum.last_execution}};
}

double rank(const QuerySum& sum, FingerprintsRequest::Order order) {
  switch (order) {
    case FingerprintsRequest::Order::kCpu:
      return sum.cpu_ns;
    case FingerprintsRequest::Order::kExecutions:
      return static_cast<double>(sum.executions);
    case FingerprintsRequest::Order::kElapsed:
      return sum.elapsed_mean();
  }
  return 0;
}

// Spreads a cost evenly over the time in which it arose.
void spread(std::vector<double>& buckets, double cost, double begin, double end, double from, double width) {
  const double length = std::max(end - begin, 1.0);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double left = from + static_cast<double>(i) * width, right = left + width;
    const double inside = std::min(end, right) - std::max(begin, left);
    if (inside > 0) buckets[i] += cost * std::min(1.0, inside / length);
  }
}

struct Series {
  std::string key, name;
  std::vector<double> buckets;
  double sum() const {
    double all = 0;
    for (double each : buckets) all += each;
    return all;
  }
};

Json series_json(std::map<std::string, Series> all, std::size_t buckets) {
  std::vector<Series> sorted;
  for (auto& [key, series] : all) sorted.push_back(std::move(series));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.sum() > b.sum(); });
  if (sorted.size() > kMostSeries) {
    Series other{"other", fmt::format("{} others", sorted.size() - kMostSeries),
                 std::vector<double>(buckets)};
    for (std::size_t i = kMostSeries; i < sorted.size(); ++i) {
      for (std::size_t b = 0; b < buckets; ++b) other.buckets[b] += sorted[i].buckets[b];
    }
    sorted.resize(kMostSeries);
    sorted.push_back(std::move(other));
  }
  Json out = Json::array();
  for (const Series& series : sorted)
    out.push_back({{"key", series.key}, {"name", series.name}, {"cpu_ns", series.buckets}});
  return out;
}

}  // namespace

Json fingerprints_json(const std::vector<store::ExecutionRow>& rows, std::size_t limit,
                       FingerprintsRequest::Order order) {
  std::map<std::string, QuerySum> sums;
  double total = 0;
  for (const store::ExecutionRow& row : rows) {
    sums[fingerprint_of(row)].add(row);
    total += row.cost.cpu_ns;
  }
  std::vector<std::pair<std::string, QuerySum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return rank(a.second, order) > rank(b.second, order);
  });
  Json out = {{"fingerprints", Json::array()}};
  for (std::size_t i = 0; i < sorted.size() && i < limit; ++i)
    out["fingerprints"].push_back(sum_json(sorted[i].first, sorted[i].second));
  out["total_cpu_ns"] = total;
  return out;
}

Json host_json(const std::vector<store::ExecutionRow>& rows, std::uint64_t from_ns, std::uint64_t to_ns,
               std::uint32_t buckets) {
  const double width = static_cast<double>(to_ns - from_ns) / buckets;
  std::map<std::string, Series> queries;
  Json running = Json::array();
  for (const store::ExecutionRow& row : rows) {
    const bool runs = row.record.end == kTimeMax;
    const auto begin = static_cast<double>(row.wall_begin_ns) - static_cast<double>(from_ns);
    const double end = runs ? static_cast<double>(to_ns - from_ns)
                            : begin + static_cast<double>(row.record.end - row.record.begin);
    if (end < 0 || begin >= static_cast<double>(to_ns - from_ns)) continue;
    const std::string fingerprint = fingerprint_of(row);
    Series& series = queries["fingerprint:" + fingerprint];
    series.key = "fingerprint:" + fingerprint;
    series.name = row.plan_name;
    series.buckets.resize(buckets);
    spread(series.buckets, row.cost.cpu_ns, begin, std::max(end, begin), 0, width);
    if (runs && running.size() < 100) running.push_back(execution_json(row, nullptr));
  }
  return {{"from_ms", to_ms(from_ns)}, {"to_ms", to_ms(to_ns)},
          {"bucket_ms", width / 1e6},  {"by_fingerprint", series_json(std::move(queries), buckets)},
          {"by_kind", Json::array()},  {"running", std::move(running)}};
}

Result<Json> Service::fingerprint(const FingerprintRequest& request, const Access& access, const Stop& stop) {
  constexpr std::size_t kMostListed = 100;
  ExecutionFilter filter = request.filter;
  filter.fingerprint = request.fingerprint;
  filter.limit = SIZE_MAX;
  if (!access.see_all) filter.visible = [&](const auto& row) { return access.sees(row.record); };
  auto list = library_.executions(filter, stop);
  if (!list) return list.error();
  if (list->rows.empty())
    return not_found(
        fmt::format("no execution has the fingerprint \"{}\"", request.fingerprint.substr(0, 64)));
  QuerySum sum;
  for (const store::ExecutionRow& row : list->rows) sum.add(row);
  Json out = sum_json(request.fingerprint, sum);
  if (list->rows.size() > kMostListed) list->rows.resize(kMostListed);
  out["executions_list"] = executions_json(list->rows)["executions"];
  // The operators of the last run that has samples.
  out["operators"] = Json::array();
  for (const store::ExecutionRow& row : list->rows) {
    if (row.cost.samples == 0) continue;
    auto view = open(prefix_target(query::hex(row.record.id)), {}, Detail::kSums, access, stop);
    if (!view) return view.error();
    if (auto profile = profile_json(*view); profile.ok() && !(*profile)["plans"].empty()) {
      out["operators"] = (*profile)["plans"][0]["operators"];
      out["operators_of"] = query::hex(row.record.id);
    }
    break;
  }
  return out;
}

}  // namespace tailor::serve
