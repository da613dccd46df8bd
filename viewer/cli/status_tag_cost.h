// What tags cost the engines of a daemon that asks for executions without them, for `tailor status`.
#pragma once

#include <optional>

#include "daemon/query/json/json_parts.h"
#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// As `tailor ab --json`, without the queries, of the executions of the last hour in the daemon's store.
// Nothing where the daemon does not ask for such executions. Fails where the store cannot be read.
Result<std::optional<query::Json>> status_tag_cost(const v1::DaemonStatus& status);

// A line of the status, or none.
std::string tag_cost_line(const Result<std::optional<query::Json>>& cost, const Terminal& terminal);

}  // namespace tailor::cli
