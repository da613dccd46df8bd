#include "daemon/serve/execution_groups.h"

#include <algorithm>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/profile/cgroup.h"
#include "daemon/serve/json_time.h"
#include "daemon/serve/views.h"

namespace tailor::serve {
namespace {

std::string group_of(const store::ExecutionRow& row, GroupBy by) {
  if (by == GroupBy::kCgroup) return row.cgroup;
  profile::CgroupNames names = profile::names_in_cgroup(row.cgroup);
  return by == GroupBy::kPod ? std::move(names.pod) : std::move(names.container);
}

bool costs_more(const ExecutionGroup& one, const ExecutionGroup& other) {
  if (one.cpu_ns != other.cpu_ns) return one.cpu_ns > other.cpu_ns;
  return one.name < other.name;
}

}  // namespace

std::string_view name_of(GroupBy by) {
  switch (by) {
    case GroupBy::kCgroup:
      return "cgroup";
    case GroupBy::kPod:
      return "pod";
    case GroupBy::kContainer:
      return "container";
  }
  return "";
}

void ExecutionGroups::add(const store::ExecutionRow& row) {
  std::string name = group_of(row, by_);
  if (groups_.size() >= kMostGroups && !groups_.contains(name)) name = kOther;
  ExecutionGroup& group = groups_[name];
  const profile::ExecutionRecord& record = row.record;
  // Of runs that are added up, each counts.
  profile::add_bounded(group.executions, profile::runs_of(record));
  if (record.drawn) profile::add_bounded(group.drawn, profile::runs_of(record));
  profile::add_bounded(group.failed, profile::failed_runs_of(record));
  if (record.end == kTimeMax) {
    ++group.running;
  } else if (profile::is_untimed(record)) {
    profile::add_bounded(group.untimed, profile::runs_of(record));
  } else {
    profile::add_bounded(group.ended, profile::runs_of(record));
    group.elapsed_ns += static_cast<double>(profile::run_times_of(record).sum);
  }
  group.samples += row.cost.samples;
  group.cpu_ns += row.cost.cpu_ns;
  group.last_wall_ns = std::max(group.last_wall_ns, row.wall_begin_ns);
}

std::vector<ExecutionGroup> ExecutionGroups::finish() const {
  std::vector<ExecutionGroup> out;
  for (const auto& [name, group] : groups_) {
    out.push_back(group);
    out.back().name = name;
  }
  std::ranges::sort(out, costs_more);
  return out;
}

Result<std::vector<ExecutionGroup>> groups_of(Library& library, const ExecutionFilter& filter, GroupBy by,
                                              const Stop& stop) {
  ExecutionGroups groups(by);
  Status read = library.visit(filter, stop, [&](const store::ExecutionRow& row) {
    groups.add(row);
    return true;
  });
  if (!read) return read.error();
  return groups.finish();
}

Result<NotInGroups> not_in_groups(Library& library, const ExecutionFilter& filter, const SeesUser& sees,
                                  const Stop& stop) {
  ExecutionFilter every = filter;
  every.limit = NotInGroups::kMostRows;
  const auto gone = library.gone(every, sees, stop);
  if (!gone) return gone.error();
  auto removed = library.removed(sees);
  if (!removed) return removed.error();
  return NotInGroups{sum_of(*gone), std::move(*removed)};
}

query::Json groups_json(const std::vector<ExecutionGroup>& groups, GroupBy by, std::size_t limit,
                        const NotInGroups& missing) {
  query::Json rows = query::Json::array();
  for (std::size_t i = 0; i < std::min(limit, groups.size()); ++i) {
    const ExecutionGroup& group = groups[i];
    rows.push_back({{"name", group.name},
                    {"executions", group.executions},
                    {"running", group.running},
                    {"failed", group.failed},
                    {"drawn", group.drawn},
                    {"cpu_ns", group.cpu_ns},
                    {"samples", group.samples},
                    {"elapsed_ns_mean",
                     group.ended == 0 ? query::Json()
                                      : query::Json(group.elapsed_ns / static_cast<double>(group.ended))},
                    {"last_ms", to_ms(group.last_wall_ns)}});
    if (group.untimed > 0) rows.back()["elapsed_unknown"] = group.untimed;
  }
  query::Json out = {
      {"by", std::string(name_of(by))}, {"groups", std::move(rows)}, {"more", groups.size() > limit}};
  const GoneSum& gone = missing.gone;
  if (gone.to_ns != 0)
    out["gone"] = {{"executions", gone.executions},
                   {"failed", gone.failed},
                   {"drawn", gone.drawn},
                   {"cpu_ns", store::to_number(gone.cpu.weight)},
                   {"samples", store::to_number(gone.cpu.samples)},
                   {"since_ms", to_ms(gone.from_ns)},
                   {"until_ms", to_ms(gone.to_ns)},
                   {"more", gone.more}};
  if (!missing.removed.empty()) out["removed"] = removed_json(missing.removed);
  return out;
}

}  // namespace tailor::serve
