// SQL text to physical plan: the front half of weft in one call.
#pragma once

#include <string>

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/operator.h"
#include "proto/base/result.h"

namespace tailor::weft {

// Hints in the text (see options.h) go over `options`. The catalog's tables must outlive the plan. Errors
// name line and column where they have one. Thread-safe.
Result<Plan> plan_query(const std::string& sql, const Catalog& catalog, const PlannerOptions& options = {});

}  // namespace tailor::weft
