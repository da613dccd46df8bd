// What a failure is called outside: one table for all transports (docs/http-api.md, "Errors").
#pragma once

#include <string_view>

#include "daemon/query/json/json_parts.h"
#include "proto/base/result.h"

namespace tailor::serve {

std::string_view error_key(ErrorKind kind);  // "not_found" ...
int http_status(ErrorKind kind);
int exit_code(ErrorKind kind);  // of `tailor` (docs/cli.md)

// {"error": {"kind", "message"}}
query::Json error_json(const Error& error);

}  // namespace tailor::serve
