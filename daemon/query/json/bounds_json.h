// The report of what plans move between a cache and memory as JSON (docs/report-json.md).
#pragma once

#include "daemon/query/json/json_parts.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/reports/bounds_report.h"

namespace tailor::query {

Json json_of(const Profile& profile, const BoundsReport& report);

}  // namespace tailor::query
