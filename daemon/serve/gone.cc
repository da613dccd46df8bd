#include "daemon/serve/gone.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "daemon/profile/cell.h"
#include "daemon/serve/execution_filter.h"
#include "daemon/store/summary_files.h"

namespace tailor::serve {
namespace {

using store::Hour;

// Newest hour first.
struct Newer {
  using Key = std::pair<Hour, std::string>;
  bool operator()(const Key& a, const Key& b) const {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  }
};

class Gone {
 public:
  Gone(const ExecutionFilter& filter, const SeesUser& sees) : filter_(filter), sees_(sees) {
    if (filter.since_ns) from_ = hour_of(*filter.since_ns);
    if (filter.until_ns) to_ = *filter.until_ns == 0 ? -1 : hour_of(*filter.until_ns - 1);
  }

  // Summaries come newest first.
  void take(const store::Summary& summary) {
    for (const auto& [key, sum] : summary.costs) {
      if (key.fingerprint.empty() || !concerns(summary, key.hour, key.uid, key.fingerprint)) continue;
      GoneRow& row = row_of(summary, key.hour, key.uid, key.fingerprint);
      if (key.unit != profile::Unit::kNsOnCpu) continue;
      row.cpu.add(sum);
    }
    for (const auto& [key, sum] : summary.runs) {
      if (concerns(summary, key.hour, key.uid, key.fingerprint))
        store::add(row_of(summary, key.hour, key.uid, key.fingerprint).runs, sum);
    }
  }

  // Whether an older summary can add nothing to what is shown. The one that was taken last has sums of
  // `oldest` and later; the hour itself may go on in the one before.
  bool complete(Hour oldest) const {
    if (oldest < store::day_of(from_)) return true;  // an older one may have some of the same day
    std::size_t shown = 0;
    for (const auto& [key, row] : rows_) shown += key.first > oldest && named(row) ? 1 : 0;
    return shown > filter_.limit;
  }

  GoneList finish() {
    GoneList list;
    for (auto& [key, row] : rows_) {
      if (named(row)) list.rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(list.rows, [](const GoneRow& a, const GoneRow& b) {
      return a.hour != b.hour ? a.hour > b.hour : a.cpu.weight > b.cpu.weight;
    });
    list.more = list.rows.size() > filter_.limit;
    if (list.more) list.rows.resize(filter_.limit);
    return list;
  }

 private:
  static Hour hour_of(std::uint64_t wall_ns) { return static_cast<Hour>(wall_ns / store::kHourNs); }
  bool concerns(const store::Summary& summary, Hour hour, const std::optional<std::uint32_t>& uid,
                const std::string& fingerprint) const {
    return hour + summary.hours_of_row(hour) > from_ && hour <= to_ && (!sees_ || sees_(uid)) &&
           (filter_.fingerprint.empty() || fingerprint == filter_.fingerprint);
  }
  bool named(const GoneRow& row) const { return row.names.name.find(filter_.plan) != std::string::npos; }
  GoneRow& row_of(const store::Summary& summary, Hour hour, const std::optional<std::uint32_t>& uid,
                  const std::string& fingerprint) {
    const auto [at, fresh] = rows_.try_emplace({hour, fingerprint});
    at->second.hours = std::max(at->second.hours, summary.hours_of_row(hour));
    if (!fresh) return at->second;
    at->second.hour = hour;
    at->second.fingerprint = fingerprint;
    const auto names = summary.queries.find({uid, fingerprint});
    if (names != summary.queries.end()) at->second.names = names->second;
    return at->second;
  }

  const ExecutionFilter& filter_;
  const SeesUser& sees_;
  Hour from_ = INT64_MIN, to_ = INT64_MAX;
  std::map<Newer::Key, GoneRow, Newer> rows_;
};

Hour oldest_of(const store::Summary& summary) {
  Hour oldest = INT64_MAX;
  if (!summary.costs.empty()) oldest = std::min(oldest, summary.costs.begin()->first.hour);
  if (!summary.runs.empty()) oldest = std::min(oldest, summary.runs.begin()->first.hour);
  return oldest;
}

}  // namespace

GoneSum sum_of(const GoneList& list) {
  GoneSum out;
  out.more = list.more;
  for (const GoneRow& row : list.rows) {
    profile::add_bounded(out.executions, row.runs.executions);
    profile::add_bounded(out.failed, row.runs.failed);
    profile::add_bounded(out.drawn, row.runs.sampled());
    out.cpu.add(row.cpu);
    const std::uint64_t begin = static_cast<std::uint64_t>(row.hour) * store::kHourNs;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(row.hours) * store::kHourNs;
    out.from_ns = out.to_ns == 0 ? begin : std::min(out.from_ns, begin);
    out.to_ns = std::max(out.to_ns, end);
  }
  return out;
}

bool sums_know(const ExecutionFilter& filter) {
  return !filter.pid && filter.process_name.empty() && filter.cgroup.empty() && filter.labels.empty() &&
         !filter.min_elapsed_ns;
}

Result<GoneList> gone_executions(const std::string& directory, const ExecutionFilter& filter,
                                 const SeesUser& sees, const Stop& stop) {
  // Files that a writer replaces meanwhile are read again from the start.
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    auto files = store::list_summaries(directory);
    if (!files) return files.error();
    Gone gone(filter, sees);
    bool replaced = false;
    for (auto file = files->rbegin(); file != files->rend() && !replaced; ++file) {
      if (stop.stopped()) return stop.error();
      auto summary = store::read_summary(directory, *file);
      replaced = !summary && summary.error().code == ENOENT && tries < kTries;
      if (replaced) continue;
      if (!summary) return summary.error();
      gone.take(*summary);
      if (gone.complete(oldest_of(*summary))) break;
    }
    if (!replaced) return gone.finish();
  }
}

}  // namespace tailor::serve
