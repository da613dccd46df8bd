// Reports as JSON for programs: the --json of the command line and the HTTP API. Keys are stable and
// documented in docs/report-json.md; new ones may come, none changes its meaning.
#pragma once

#include <string>

#include "daemon/query/json/json_parts.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

// One JSON object each.
Json json_of(const Profile& profile, const PlanReport& report);
Json json_of(const Profile& profile, const LevelReport& report);
Json json_of(const Profile& profile, const AnnotateReport& report);
Json json_of(const Profile& profile, const MemoryReport& report);

// The same as text, as dump() writes it.
template <typename Report>
std::string to_json(const Profile& profile, const Report& report) {
  return dump(json_of(profile, report));
}

}  // namespace tailor::query
