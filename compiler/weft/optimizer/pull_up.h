// The cheap way to remove correlation: moving correlated conjuncts up to the join.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Whether all uses of `outer` units in the right input of a join of this kind can be pulled up.
bool can_pull_up(const Logical& right, const IuSet& outer, JoinKind kind, bool has_condition);
// Does it: moves the conjuncts out; groupings on the way get the inner units of equalities as further keys.
void pull_up(LogicalPtr* right, const IuSet& outer, std::vector<ExprPtr>* conjuncts);

}  // namespace tailor::weft
