// What all views of samples say of themselves.
#pragma once

#include "daemon/query/json/json_parts.h"
#include "daemon/serve/view.h"

namespace tailor::serve {

query::Json view_json(const View& view, const profile::Source& source, double samples, double weight);
// Adds "accounting" and "file".
void add_accounts(const View& view, query::Json& out);

}  // namespace tailor::serve
