// The sums of a store as JSON (docs/http-api.md, "history").
#pragma once

#include "daemon/query/json/json_parts.h"
#include "daemon/serve/access.h"
#include "daemon/serve/request.h"
#include "daemon/store/summary.h"

namespace tailor::serve {

// What `access` may see of it, by uid. Not found where there is nothing of the query.
Result<query::Json> history_json(const store::Summary& sums, const HistoryRequest& request,
                                 const Access& access);

// Rows of a list of executions whose samples are gone (docs/http-api.md, "executions").
query::Json gone_json(const GoneList& gone);
// Their elapsed times: least, mean, most, and what half, 95 % and 99 % of them took at most; null where that
// is not known of all of them.
query::Json elapsed_json(const store::RunSum& runs);

}  // namespace tailor::serve
