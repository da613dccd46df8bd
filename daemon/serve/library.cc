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

class FileLibrary : public Library {
 public:
  explicit FileLibrary(std::string path) : path_(std::move(path)) {}

  Result<ExecutionList> executions(const ExecutionFilter& filter, const Stop& stop) override {
    auto profile = get(Detail::kSums, stop);
    if (!profile) return profile.error();
    return page_of(rows_of(**profile), filter, stop);
  }

  Result<Loaded> load(const Target& target, Detail detail, const Stop& stop) override {
    auto profile = get(detail, stop);
    if (!profile) return profile.error();
    Loaded loaded{*profile, {}};
    if (target.what == Target::What::kPrefix) {
      auto found = find(**profile, target.prefix);
      if (!found) return found.error();
      loaded.selection.executions.insert({found->process, found->handle});
    } else if (target.what == Target::What::kLast) {
      const auto rows = rows_of(**profile);
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

  static Result<profile::ExecutionRecord> find(const query::Profile& profile, const std::string& prefix) {
    std::optional<profile::ExecutionRecord> found;
    for (const profile::ExecutionRecord& execution : profile.executions()) {
      if (!query::hex(execution.id).starts_with(prefix)) continue;
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

Result<ExecutionList> page_of(std::vector<store::ExecutionRow> rows, const ExecutionFilter& filter,
                              const Stop& stop) {
  ExecutionList list;
  bool after = filter.after.empty();
  for (store::ExecutionRow& row : rows) {
    if (stop.stopped()) return stop.error();
    const bool counts = after && passes(filter, row);
    after = after || query::hex(row.record.id) == filter.after;
    if (!counts) continue;
    if (list.rows.size() == filter.limit) {
      list.more = true;
      break;
    }
    list.rows.push_back(std::move(row));
  }
  return list;
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
    store::ExecutionCost& cost = costs[{key.process, key.execution}];
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
    if (info.wall_clock_ns != 0)
      row.wall_begin_ns = info.wall_clock_ns + static_cast<std::uint64_t>(record.begin - info.start);
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
