// What makes two executions runs of the same query.
#pragma once

#include <string>
#include <string_view>

#include "daemon/store/catalogue.h"

namespace tailor::serve {

// 16 hexadecimal digits. The engine's own id where it gives one (label "fingerprint"); else of the query's
// text (label "query") without its literals, else of the plan's name. Texts that differ only in literals,
// comments, case of keywords and white space have one fingerprint.
std::string fingerprint_of(const store::ExecutionRow& row);

// A label of the execution, "" if it has none of that name.
std::string_view label_of(const store::ExecutionRow& row, std::string_view key);

}  // namespace tailor::serve
