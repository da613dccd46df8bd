// SQL text to syntax tree, by the PostgreSQL grammar (libpg-query).
#pragma once

#include <memory>

#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/sql/ast.h"
#include "proto/base/result.h"

namespace tailor::weft {

// One select statement (a closing semicolon is allowed). Syntax errors and parts of SQL that weft does not
// have are errors with line and column. Thread-safe.
Result<std::unique_ptr<ast::Select>> parse_select(const QueryText& sql);

}  // namespace tailor::weft
