// Gives names and types to a syntax tree and turns it into logical algebra.
#pragma once

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/plan/logical.h"
#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/sql/ast.h"
#include "proto/base/result.h"

namespace tailor::weft {

// `sql` is the text the tree was read from, for the places in errors. The catalog's tables must outlive the
// query.
Result<Query> bind_select(const ast::Select& select, const QueryText& sql, const Catalog& catalog);

}  // namespace tailor::weft
