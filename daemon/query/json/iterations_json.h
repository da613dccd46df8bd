// The iterations of loops as JSON (docs/report-json.md, "tailor iterations --json").
#pragma once

#include <functional>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/query/time/iterations.h"

namespace tailor::query {

// With the samples that `keep` lets through; empty: all.
Json json_of(const Profile& profile, const Selection& selection, const std::vector<Loop>& loops,
             const std::function<bool(const TimedSample&)>& keep = {});

}  // namespace tailor::query
