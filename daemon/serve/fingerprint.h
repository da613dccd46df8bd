// What makes two executions runs of the same query.
#pragma once

#include <string>
#include <string_view>

#include "daemon/store/catalogue.h"

namespace tailor::serve {

// The engine's own id where it gives one: the label "fingerprint" as it is, else the label "query_id", a
// 64-bit number in decimal as PostgreSQL has it, as 16 hexadecimal digits. Else 16 hexadecimal digits of the
// query's text (label "query") without its literals, else of the plan's name. Texts that differ only in
// literals, comments, case of keywords and white space have one fingerprint.
std::string fingerprint_of(const store::ExecutionRow& row);

// A label of the execution, "" if it has none of that name.
std::string_view label_of(const store::ExecutionRow& row, std::string_view key);

}  // namespace tailor::serve
