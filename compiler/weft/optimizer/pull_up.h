// The cheap way to remove correlation: moving correlated conjuncts up to the join.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Whether all uses of `outer` units in the right input of a join of this kind can be pulled up.
bool can_pull_up(const Logical& right, const IuSet& outer, JoinKind kind, bool has_condition);
// Whether a subquery that yields one row for any binding yields nothing but null when it aggregates no rows.
// Then that row may as well be missing where a join pads with nulls.
bool is_null_of_no_rows(const Logical& right);
// Groups that pulling up would make of the whole inner relation; 0 if no grouping is in the way.
double groups_when_pulled_up(const Logical& right, const IuSet& outer);
// Does it: moves the conjuncts out; groupings on the way get the inner units of equalities as further keys.
void pull_up(LogicalPtr* right, const IuSet& outer, std::vector<ExprPtr>* conjuncts);

}  // namespace tailor::weft
