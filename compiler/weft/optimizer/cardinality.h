// Estimates: selectivities from samples where there are, from distinct counts and ranges elsewhere; joins
// under the usual assumptions of containment and independence.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Share of rows for which the predicate is true.
double selectivity(const Expr& predicate);
// The same for conjuncts over one table, counted on its sample if it has one.
double selectivity(const std::vector<ExprPtr>& conjuncts, const Logical& get);

// Rows the subtree yields.
double estimate(const Logical& node);

// Share of the pairs of rows of both sides that satisfy conjuncts over both.
double join_selectivity(const std::vector<const Expr*>& conjuncts, const Logical& left, const Logical& right);
// Share of left rows that have a match among `right_rows` rows.
double match_share(const Logical& join, double right_rows);
// Fills in the number of values of computed units.
void estimate_distinct(const Logical& node);
// Groups among `rows` rows.
double estimate_groups(const std::vector<const Iu*>& keys, double rows);

}  // namespace tailor::weft
