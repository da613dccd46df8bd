// What the plans of a view move between a cache and memory, and how long they need at least (docs/bounds.md).
#pragma once

#include "daemon/query/json/json_parts.h"
#include "daemon/query/reports/bounds_report.h"
#include "daemon/serve/view.h"
#include "daemon/serve/view_options.h"
#include "proto/base/result.h"

namespace tailor::serve {

// Plans that are one tree are one plan. Fails where plan_report() and bounds_report() do.
Result<query::BoundsReport> bounds_of(const View& view, const BoundsRequest& request);
Result<query::Json> bounds_json(const View& view, const BoundsRequest& request);

}  // namespace tailor::serve
