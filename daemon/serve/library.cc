#include "daemon/serve/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "daemon/query/keys.h"
#include "daemon/serve/fingerprint.h"

namespace tailor::serve {
namespace {

Error unknown_execution(const std::string& prefix) {
  return not_found(
      fmt::format("no execution begins with \"{}\"; `tailor list` shows the executions there are", prefix));
}

bool same_name(const std::string& one, const std::string& other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

Status pass_on(std::vector<store::ExecutionRow> rows, const ExecutionFilter& filter, const Stop& stop,
               const std::function<bool(store::ExecutionRow)>& take) {
  Sieve sieve(filter);
  for (store::ExecutionRow& row : rows) {
    if (stop.stopped()) return stop.error();
    if (sieve.passes(row) && !take(std::move(row))) break;
  }
  return Ok{};
}

// What it keeps is bounded in bytes too: labels may be long.
class Page {
 public:
  explicit Page(std::size_t limit) : limit_(limit) {}
  // Whether it wants more.
  bool take(store::ExecutionRow row) {
    if (list_.rows.size() == limit_ || bytes_ > kMostBytes) {
      list_.more = true;
      return false;
    }
    bytes_ += sizeof row + row.plan_name.size() + row.record.error.size();
    for (const auto& [key, value] : row.record.labels) bytes_ += 64 + key.size() + value.size();
    list_.rows.push_back(std::move(row));
    return true;
  }
  ExecutionList finish() { return std::move(list_); }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  const std::size_t limit_;
  std::size_t bytes_ = 0;
  ExecutionList list_;
};

class FileLibrary : public Library {
 public:
  explicit FileLibrary(std::string path) : path_(std::move(path)) {}

  Status visit(const ExecutionFilter& filter, const Stop& stop,
               const std::function<bool(store::ExecutionRow)>& take) override {
    auto profile = get(Detail::kSums, stop);
    if (!profile) return profile.error();
    return pass_on(rows_of(**profile), filter, stop, take);
  }

  Result<Loaded> load(const Target& target, Detail detail, const Stop& stop,
                      const Visible& visible) override {
    auto profile = get(detail, stop);
    if (!profile) return profile.error();
    Loaded loaded{*profile, {}};
    if (target.what == Target::What::kPrefix) {
      auto found = find(**profile, target.prefix, visible);
      if (!found) return found.error();
      loaded.selection.executions.insert((*profile)->led_by(found->process, found->handle));
    } else if (target.what == Target::What::kLast) {
      auto rows = rows_of(**profile);
      if (visible) std::erase_if(rows, [&](const store::ExecutionRow& row) { return !visible(row); });
      if (rows.empty()) return not_found(fmt::format("{} holds no execution", path_));
      std::size_t first = 0;
      if (target.count == 1) {
        while (first < rows.size() && rows[first].cost.samples == 0) ++first;
        if (first == rows.size()) first = 0;
      }
      for (std::size_t i = first; i < rows.size() && i < first + target.count; ++i)
        loaded.selection.executions.insert({rows[i].record.process, rows[i].record.handle});
    }
    return loaded;
  }

  const std::string& file() const override { return path_; }

 private:
  // Kept with its samples once anybody has asked for them.
  Result<std::shared_ptr<const query::Profile>> get(Detail detail, const Stop& stop) {
    std::lock_guard lock(mutex_);
    if (profile_ != nullptr && (detail == Detail::kSums || with_samples_)) return profile_;
    query::LoadOptions options;
    options.keep_samples = options.keep_activity = detail == Detail::kSamples;
    options.stop = &stop;
    auto loaded = query::Profile::load_file(path_, options);
    if (!loaded) return loaded.error();
    profile_ = std::make_shared<const query::Profile>(std::move(*loaded));
    with_samples_ = options.keep_samples;
    return profile_;
  }

  static Result<profile::ExecutionRecord> find(const query::Profile& profile, const std::string& prefix,
                                               const Visible& visible) {
    std::optional<profile::ExecutionRecord> found;
    for (const profile::ExecutionRecord& execution : profile.executions()) {
      if (!query::hex(execution.id).starts_with(prefix)) continue;
      if (visible && !visible({.recording = 0, .record = execution})) continue;
      if (found && found->id != execution.id) return ambiguous(prefix, found->id, execution.id);
      // Of an id that several processes declared it is the execution of the one that was heard of first.
      if (!found || execution.heard < found->heard) found = execution;
    }
    if (!found) return unknown_execution(prefix);
    return *found;
  }

  const std::string path_;
  std::mutex mutex_;
  std::shared_ptr<const query::Profile> profile_;
  bool with_samples_ = false;
};

}  // namespace

Target prefix_target(std::string prefix) {
  std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return {Target::What::kPrefix, 1, std::move(prefix)};
}

std::unique_ptr<Library> open_file_library(std::string path) {
  return std::make_unique<FileLibrary>(std::move(path));
}

bool passes(const ExecutionFilter& filter, const store::ExecutionRow& row) {
  const profile::ExecutionRecord& record = row.record;
  if (filter.visible && !filter.visible(row)) return false;
  if (filter.since_ns && row.wall_begin_ns < *filter.since_ns) return false;
  if (filter.until_ns && row.wall_begin_ns >= *filter.until_ns) return false;
  if (filter.pid && record.process.pid != *filter.pid) return false;
  if (!filter.process_name.empty() && !same_name(row.comm, filter.process_name) &&
      !same_name(row.engine, filter.process_name))
    return false;
  if (filter.min_elapsed_ns && (record.end == kTimeMax || record.end - record.begin < *filter.min_elapsed_ns))
    return false;
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

Result<ExecutionList> Library::executions(const ExecutionFilter& filter, const Stop& stop) {
  Page page(filter.limit);
  Status done = visit(filter, stop, [&](store::ExecutionRow row) { return page.take(std::move(row)); });
  if (!done) return done.error();
  return page.finish();
}

Result<ExecutionList> page_of(std::vector<store::ExecutionRow> rows, const ExecutionFilter& filter,
                              const Stop& stop) {
  Page page(filter.limit);
  Status done = pass_on(std::move(rows), filter, stop,
                        [&](store::ExecutionRow row) { return page.take(std::move(row)); });
  if (!done) return done.error();
  return page.finish();
}

Error ambiguous(const std::string& prefix, const ExecutionId& one, const ExecutionId& other) {
  return invalid(
      fmt::format("\"{}\" is the start of several executions, {} and {} among them: give more digits", prefix,
                  query::hex(one), query::hex(other)));
}

std::vector<store::ExecutionRow> rows_of(const query::Profile& profile, std::size_t limit) {
  std::map<query::InProcess<ExecutionHandle>, store::ExecutionCost> costs;
  for (const auto& [key, cell] : profile.cells()) {
    if (profile.source(key.source).unit != profile::Unit::kNsOnCpu) continue;
    store::ExecutionCost& cost = costs[profile.led_by(key.process, key.execution)];
    cost.samples += cell.samples;
    cost.cpu_ns += cell.weight;
  }
  const profile::RecordingInfo& info = profile.recording();
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
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tailor::serve
