// SQL text to physical plan: the front half of weft.
#pragma once

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/operator.h"
#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/sql/binder.h"
#include "proto/base/result.h"

namespace tailor::weft {

// What the text says: names bound to tables and columns, and its hints.
struct ReadQuery {
  Query query;
  PlannerOptions options;
};

// The two halves of plan_query(), with its errors.
Result<ReadQuery> read_query(const QueryText& sql, const Catalog& catalog,
                             const PlannerOptions& options = {});
Result<Plan> optimise(const QueryText& sql, ReadQuery read);

// Hints in the text (see options.h) go over `options`. The catalog's tables must outlive the plan. Errors
// name line and column where they have one. Thread-safe.
Result<Plan> plan_query(const QueryText& sql, const Catalog& catalog, const PlannerOptions& options = {});

}  // namespace tailor::weft
