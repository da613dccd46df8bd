// The iterations of loops as JSON (docs/report-json.md, "tailor iterations --json").
#pragma once

#include <vector>

#include "daemon/query/iterations.h"
#include "daemon/query/json_parts.h"

namespace tailor::query {

Json json_of(const Profile& profile, const Selection& selection, const std::vector<Loop>& loops);

}  // namespace tailor::query
