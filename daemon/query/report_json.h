// Reports as JSON for programs: the --json of the command line and the HTTP API. Keys are stable and
// documented in docs/report-json.md; new ones may come, none changes its meaning.
#pragma once

#include <string>

#include "daemon/query/annotate_report.h"
#include "daemon/query/memory_report.h"
#include "daemon/query/plan_report.h"
#include "daemon/query/profile.h"

namespace tailor::query {

// One JSON object each, indented, with a newline at the end. Strings are valid UTF-8 whatever the profile
// holds.
std::string to_json(const Profile& profile, const PlanReport& report);
std::string to_json(const Profile& profile, const LevelReport& report);
std::string to_json(const Profile& profile, const AnnotateReport& report);
std::string to_json(const Profile& profile, const MemoryReport& report);

// 32 hexadecimal digits.
std::string hex(const ExecutionId& id);

}  // namespace tailor::query
