#include "daemon/serve/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/query/json/report_json.h"
#include "daemon/query/sums/keys.h"
#include "daemon/redact/sql_text.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/json_time.h"
#include "daemon/serve/kind_costs.h"
#include "daemon/serve/short_text.h"

namespace tailor::serve {
namespace {

// Series of a picture: more are added up in "other".
constexpr std::size_t kMostSeries = 12;
constexpr std::size_t kMostName = 256;  // bytes

double rank(const QuerySum& sum, FingerprintsRequest::Order order) {
  switch (order) {
    case FingerprintsRequest::Order::kCpu:
      return sum.cpu_ns;
    case FingerprintsRequest::Order::kExecutions:
      return static_cast<double>(sum.executions);
    case FingerprintsRequest::Order::kElapsed:
      return sum.ended == 0 ? sum.running_longest : sum.elapsed_mean();
  }
  return 0;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

namespace {

// How long the execution has run by then, or did run.
double elapsed_by(const store::ExecutionRow& row, std::uint64_t now_ns) {
  if (row.record.end != kTimeMax)
    return static_cast<double>(std::max<TimeNs>(0, row.record.end - row.record.begin));
  const bool known = row.wall_begin_ns != 0 && row.wall_begin_ns < now_ns;
  return known ? static_cast<double>(now_ns - row.wall_begin_ns) : 0;
}

}  // namespace

void QuerySum::add(const store::ExecutionRow& row, std::size_t most_text, double part) {
  const std::uint64_t runs = profile::runs_of(row.record);
  profile::add_bounded(executions, runs);
  if (row.record.drawn) profile::add_bounded(drawn_executions, runs);
  samples += row.cost.samples;
  cpu_ns += row.cost.cpu_ns * part;
  drawn[row.recording].add(row.record.drawn, row.cost.cpu_ns * part, static_cast<double>(row.cost.samples));
  if (row.wall_begin_ns >= last_ns) {
    last_ns = row.wall_begin_ns;
    last_execution = query::hex(row.record.id);
    name = short_text(row.plan_name, most_text);
    // Whatever the store holds: an overview shows no literals.
    text = short_text(redact::without_literals(label_of(row, "query")), most_text);
  }
  first_ns = std::min(first_ns, row.wall_begin_ns);
  if (row.record.end == kTimeMax) {
    ++running;
    // How long the runs take that are being added up is not known yet.
    if (!profile::adds_up_runs(row.record))
      running_longest = std::max(running_longest, elapsed_by(row, query::wall_clock_ns()));
    return;
  }
  if (runs == 0) return;
  if (profile::is_untimed(row.record)) return profile::add_bounded(untimed, runs);
  const profile::RunTimes times = profile::run_times_of(row.record);
  const auto shortest = static_cast<double>(times.shortest);
  elapsed_min = ended == 0 ? shortest : std::min(elapsed_min, shortest);
  elapsed_max = std::max(elapsed_max, static_cast<double>(times.longest));
  elapsed_sum += static_cast<double>(times.sum);
  profile::add_bounded(ended, runs);
}

Json sum_json(const std::string& fingerprint, const QuerySum& sum) {
  std::vector<query::DrawnSum> parts;
  for (const auto& [recording, part] : sum.drawn) parts.push_back(part);
  Json estimate;
  if (const auto total = query::drawn_total(parts))
    estimate = {{"value", total->weight}, {"low", total->low}, {"high", total->high}};
  Json elapsed = {{"min", sum.elapsed_min}, {"mean", sum.elapsed_mean()}, {"max", sum.elapsed_max}};
  if (sum.untimed > 0) elapsed["unknown"] = sum.untimed;
  return {{"fingerprint", fingerprint},
          {"name", sum.name},
          {"text", sum.text},
          {"executions", sum.executions},
          {"cpu_ns", sum.cpu_ns},
          {"samples", sum.samples},
          {"drawn", sum.drawn_executions},
          {"cpu_ns_of_all", std::move(estimate)},
          {"elapsed_ns", std::move(elapsed)},
          {"running", sum.running},
          {"running_longest_ns", sum.running_longest},
          {"first_ms", to_ms(sum.first_ns == UINT64_MAX ? 0 : sum.first_ns)},
          {"last_ms", to_ms(sum.last_ns)},
          {"last_execution", sum.last_execution}};
}

double QuerySums::part_of(const store::ExecutionRow& row) const {
  if (row.wall_begin_ns >= since_ns_) return 1;
  const double before = static_cast<double>(since_ns_ - row.wall_begin_ns);
  const double elapsed = elapsed_by(row, now_ns_);
  return elapsed > before ? (elapsed - before) / elapsed : 0;
}

void QuerySums::add(const store::ExecutionRow& row) {
  const double part = part_of(row);
  total_ += row.cost.cpu_ns * part;
  const std::string fingerprint = fingerprint_of(row);
  if (sums_.size() >= kMostQueries && !sums_.contains(fingerprint)) {
    truncated_ = true;
    return;
  }
  sums_[fingerprint].add(row, kMostText, part);
}

Json QuerySums::json(std::size_t limit, FingerprintsRequest::Order order,
                     const std::string& containing) const {
  std::vector<std::pair<double, const std::pair<const std::string, QuerySum>*>> sorted;
  const std::string wanted = lower_case(containing);
  for (const auto& each : sums_) {
    if (lower_case(each.second.name + "\n" + each.second.text).find(wanted) != std::string::npos)
      sorted.emplace_back(rank(each.second, order), &each);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Json out = {{"fingerprints", Json::array()}};
  for (std::size_t i = 0; i < sorted.size() && i < limit; ++i)
    out["fingerprints"].push_back(sum_json(sorted[i].second->first, sorted[i].second->second));
  out["total_cpu_ns"] = total_;
  out["truncated"] = truncated_;
  return out;
}

void HostSums::add(const store::ExecutionRow& row) {
  constexpr std::size_t kMostRunning = 100, kMostRunningBytes = std::size_t{8} << 20;
  const bool runs = row.record.end == kTimeMax;
  const auto length = static_cast<double>(to_ns_ - from_ns_);
  const auto begin = static_cast<double>(row.wall_begin_ns) - static_cast<double>(from_ns_);
  // One that still runs has used its CPU time by now. If nobody knows when it began, its CPU time is spread
  // over all of the time.
  const double elapsed =
      runs && row.wall_begin_ns == 0 ? length - begin : elapsed_by(row, query::wall_clock_ns());
  const double end = std::max(begin, runs ? std::min(length, begin + elapsed) : begin + elapsed);
  if (end < 0 || begin >= length) return;
  const std::string fingerprint = fingerprint_of(row);
  auto at = numbers_.find(fingerprint);
  if (at == numbers_.end() && numbers_.size() < QuerySums::kMostQueries) {
    at = numbers_.emplace(fingerprint, static_cast<std::uint32_t>(queries_.size())).first;
    queries_.push_back({"fingerprint:" + fingerprint, short_text(row.plan_name, kMostName), 0});
  }
  const std::uint32_t query = at == numbers_.end() ? kOther : at->second;
  const double inside = std::min(end, length) - std::max(begin, 0.0);
  if (query != kOther)
    queries_[query].cpu_ns += row.cost.cpu_ns * std::min(1.0, inside / std::max(end - begin, 1.0));
  runs_.push_back({query, begin, end, row.cost.cpu_ns});
  if (!runs || running_.size() >= kMostRunning || running_bytes_ > kMostRunningBytes) return;
  for (const auto& [key, value] : row.record.labels) running_bytes_ += key.size() + value.size();
  running_.push_back(execution_json(row, nullptr));
}

Json HostSums::json(std::uint32_t buckets) const {
  const double width = static_cast<double>(to_ns_ - from_ns_) / buckets;
  std::vector<std::uint32_t> order(queries_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return queries_[a].cpu_ns > queries_[b].cpu_ns;
  });
  const std::size_t shown = std::min(order.size(), kMostSeries);
  // The heaviest, and the rest as one.
  std::vector<std::size_t> series_of(queries_.size(), shown);
  for (std::size_t i = 0; i < shown; ++i) series_of[order[i]] = i;
  std::vector<std::vector<double>> series(shown + 1, std::vector<double>(buckets));
  bool others = order.size() > shown;
  for (const Run& run : runs_) {
    others = others || run.query == kOther;
    const std::size_t to = run.query == kOther ? shown : series_of[run.query];
    spread(series[to], run.cpu_ns, run.begin, run.end, width);
  }
  Json by_fingerprint = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const Query& query = queries_[order[i]];
    by_fingerprint.push_back({{"key", query.key}, {"name", query.name}, {"cpu_ns", series[i]}});
  }
  if (others) {
    const bool all = numbers_.size() < QuerySums::kMostQueries;
    by_fingerprint.push_back(
        {{"key", "other"},
         {"name", fmt::format("{}{} others", all ? "" : "more than ", order.size() - shown)},
         {"cpu_ns", series[shown]}});
  }
  return {{"from_ms", to_ms(from_ns_)},
          {"to_ms", to_ms(to_ns_)},
          {"bucket_ms", width / 1e6},
          {"by_fingerprint", std::move(by_fingerprint)},
          {"running", running_}};
}

}  // namespace tailor::serve
