// Queries over hours or days as text.
#pragma once

#include <string>

#include "daemon/query/json/json_parts.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// `history`: what the service answers to a HistoryRequest (docs/http-api.md, "history").
std::string render_history(const query::Json& history, const Terminal& terminal);

}  // namespace tailor::cli
