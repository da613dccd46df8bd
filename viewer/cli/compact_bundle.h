// A bundle as a report file has it: what several of its answers share stands there once (docs/http-api.md,
// "bundle").
#pragma once

#include <string>

#include "daemon/query/json/json_parts.h"
#include "proto/base/result.h"

namespace tailor::cli {

// Of a bundle of version 1 one of version 2 with the same content:
// - an answer that equals one before it is {"same": KEY};
// - a listing whose lines differ from those of one before it in their costs alone is {"like": KEY, "lines":
// {...},
//   "assembly": {...}, "rest": {...}}, with the lines and instructions that differ by their place;
// - lines of listings without a cost have no keys of a cost.
query::Json compact_bundle(query::Json bundle);

// Compressed by gzip, in base64: letters that need no escaping in a page.
Result<std::string> packed(const std::string& text);

}  // namespace tailor::cli
