#include "daemon/serve/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cgroup.h"
#include "daemon/query/sums/keys.h"
#include "daemon/serve/filter_text.h"
#include "daemon/serve/fingerprint.h"

namespace tailor::serve {
namespace {

bool same_name(const std::string& one, const std::string& other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

void Detail::tell(query::LoadOptions& options) const {
  constexpr std::size_t kMostSliceRows = std::size_t{1} << 20;
  options.keep_samples = samples;
  options.keep_activity = activity;
  options.functions = functions;
  options.code = code;
  options.slices = slices ? kMostSliceRows : 0;
}

Target prefix_target(std::string prefix) {
  std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return {Target::What::kPrefix, 1, std::move(prefix)};
}

namespace {

// Whether it had not ended by then; it had begun.
bool ran_at(const store::ExecutionRow& row, std::uint64_t wall_ns) {
  if (row.record.end == kTimeMax) return true;
  return row.wall_begin_ns +
             static_cast<std::uint64_t>(std::max<TimeNs>(0, row.record.end - row.record.begin)) >=
         wall_ns;
}

// Whether it ended and took that long; of runs that are added up, whether one of them did.
bool ran_for(const profile::ExecutionRecord& record, std::int64_t least_ns) {
  if (record.end == kTimeMax) return false;
  return least_ns <= 0 || profile::run_times_of(record).longest >= static_cast<std::uint64_t>(least_ns);
}

}  // namespace

bool passes(const ExecutionFilter& filter, const store::ExecutionRow& row) {
  const profile::ExecutionRecord& record = row.record;
  if (filter.visible && !filter.visible(row)) return false;
  if (filter.since_ns && row.wall_begin_ns < *filter.since_ns &&
      !(filter.ran_since && ran_at(row, *filter.since_ns)))
    return false;
  if (filter.until_ns && row.wall_begin_ns >= *filter.until_ns) return false;
  if (filter.pid && record.process.pid != *filter.pid) return false;
  if (!filter.process_name.empty() && !same_name(row.comm, filter.process_name) &&
      !same_name(row.engine, filter.process_name))
    return false;
  if (!profile::cgroup_matches(filter.cgroup, row.cgroup)) return false;
  if (filter.min_elapsed_ns && !ran_for(record, *filter.min_elapsed_ns)) return false;
  if (row.plan_name.find(filter.plan) == std::string::npos) return false;
  for (const auto& label : filter.labels) {
    if (std::find(record.labels.begin(), record.labels.end(), label) == record.labels.end()) return false;
  }
  return filter.fingerprint.empty() || fingerprint_of(row) == filter.fingerprint;
}

bool Sieve::passes(const store::ExecutionRow& row) {
  const bool counts = after_ && serve::passes(filter_, row);
  after_ = after_ || query::hex(row.record.id) == filter_.after;
  return counts;
}

Result<store::Summary> Library::sums(const store::WallRange& /*range*/, const Stop& /*stop*/,
                                     query::StoreDamage& /*damage*/) {
  return invalid("hours and days are shown of a store: a file is one recording");
}

Result<Checked> Library::check(const store::WallRange& /*range*/, std::uint64_t /*most_bytes*/,
                               const Stop& /*stop*/) {
  return Checked{};
}

Result<Checked> Library::check_behind(const std::vector<store::ExecutionRow>& /*rows*/,
                                      std::uint64_t /*most_bytes*/, const Stop& /*stop*/) {
  return Checked{};
}

Result<GoneList> Library::gone(const ExecutionFilter& /*filter*/, const SeesUser& /*sees*/,
                               const Stop& /*stop*/) {
  return GoneList{};
}

Result<std::vector<store::RemovedOfUser>> Library::removed(const SeesUser& /*sees*/) {
  return std::vector<store::RemovedOfUser>();
}

Result<ExecutionList> Library::executions(const ExecutionFilter& filter, const Stop& stop) {
  Page page(filter.limit);
  Status done = visit(filter, stop, [&](store::ExecutionRow row) { return page.take(std::move(row)); });
  if (!done) return done.error();
  return page.finish();
}

bool Page::take(store::ExecutionRow row) {
  constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  if (list_.rows.size() == limit_ || bytes_ > kMostBytes) {
    list_.more = true;
    return false;
  }
  bytes_ +=
      sizeof row + row.plan_name.size() + row.cgroup.size() + row.rate_why.size() + row.record.error.size();
  for (const auto& [key, value] : row.record.labels) bytes_ += 64 + key.size() + value.size();
  list_.rows.push_back(std::move(row));
  return true;
}

ExecutionFilter filter_of(const Target& target, const Visible& visible) {
  ExecutionFilter filter = target.filter;
  filter.limit = target.count == 0 ? kMostFiltered : target.count;
  filter.visible = visible;
  return filter;
}

std::vector<std::string> cut_off_note(const Target& target, const ExecutionList& list) {
  if (target.count != 0 || !list.more) return {};
  return {fmt::format("only the newest {} executions that were asked for are shown", list.rows.size())};
}

Error none_passes(const ExecutionFilter& filter, const std::string& where) {
  return not_found(fmt::format("{} holds no execution that {}; `tailor list` shows those that there are",
                               where, filter_text(filter)));
}

Error unknown_execution(const std::string& prefix) {
  return not_found(
      fmt::format("no execution begins with \"{}\"; `tailor list` shows the executions there are", prefix));
}

Error ambiguous(const std::string& prefix, const ExecutionId& one, const ExecutionId& other) {
  return invalid(
      fmt::format("\"{}\" is the start of several executions, {} and {} among them: give more digits", prefix,
                  query::hex(one), query::hex(other)));
}

namespace {

// Times of other rates, by process; those of one process in the order of their begin, by which they end too.
using RatesOfProcesses = std::map<ProcessId, std::vector<const profile::RateSpan*>>;

RatesOfProcesses rates_by_process(const profile::RecordingInfo& info) {
  RatesOfProcesses rates;
  for (const profile::RateSpan& span : info.rates) rates[span.process].push_back(&span);
  for (auto& [process, spans] : rates) std::ranges::stable_sort(spans, {}, &profile::RateSpan::from);
  return rates;
}

// The first other rate of its process while it ran, as the catalogue of a store says it: the one that it
// began in, or else the next.
void set_rate(const RatesOfProcesses& rates, store::ExecutionRow& row) {
  const auto found = rates.find(row.record.process);
  if (found == rates.end()) return;
  const auto& spans = found->second;
  auto span = std::ranges::upper_bound(spans, row.record.begin, {}, &profile::RateSpan::from);
  if (span != spans.begin() && (*std::prev(span))->to >= row.record.begin) --span;
  if (span == spans.end() || (*span)->from > row.record.end) return;
  row.frequency = (*span)->frequency;
  row.rate_why = (*span)->why;
}

}  // namespace

std::vector<store::ExecutionRow> rows_of(const query::Profile& profile, std::size_t limit) {
  std::map<query::InProcess<ExecutionHandle>, store::ExecutionCost> costs;
  for (const auto& [key, cell] : profile.cells()) {
    if (profile.source(key.source).unit != profile::Unit::kNsOnCpu) continue;
    store::ExecutionCost& cost = costs[profile.led_by(key.process, key.execution)];
    cost.samples += cell.samples;
    cost.cpu_ns += cell.weight;
  }
  const profile::RecordingInfo& info = profile.recording();
  const RatesOfProcesses rates = rates_by_process(info);
  std::vector<store::ExecutionRow> rows;
  for (auto it = profile.executions().rbegin(); it != profile.executions().rend() && rows.size() < limit;
       ++it) {
    store::ExecutionRow row;
    row.record = *it;
    const profile::ExecutionRecord& record = row.record;
    if (const std::pair own(record.process, record.handle); profile.led_by(own.first, own.second) != own)
      continue;
    row.wall_begin_ns = record.wall_begin_ns != 0 ? record.wall_begin_ns : info.wall_of(record.begin);
    if (const query::PlanModel* plan = profile.plan(record.process, record.plan))
      row.plan_name = plan->name();
    if (const auto cost = costs.find({record.process, record.handle}); cost != costs.end())
      row.cost = cost->second;
    if (const auto process = profile.processes().find(record.process); process != profile.processes().end()) {
      row.comm = process->second.comm;
      row.engine = process->second.engine_name;
      row.cgroup = process->second.cgroup;
    }
    set_rate(rates, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tailor::serve
