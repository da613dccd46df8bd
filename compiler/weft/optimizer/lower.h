// From logical to physical: build sides, hash join keys, groupjoins, top-k, and for every operator exactly
// the units its consumer needs.
#pragma once

#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// The query's tree must be unnested, without distinct aggregates, and ordered.
Plan lower(Query query, const PlannerOptions& options);

}  // namespace tailor::weft
