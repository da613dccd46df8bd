// Conjuncts that are hidden in disjunctions.
#pragma once

#include <vector>

#include "compiler/weft/plan/rewrite.h"

namespace tailor::weft {

// (a and b) or (a and c) becomes a, (b or c): the conjuncts all branches share come out.
std::vector<ExprPtr> factor_out(ExprPtr predicate);

// For (p(x) and q(y)) or (r(x) and s(y)) and the units {x}: p(x) or r(x), which follows from it. Null if some
// branch says nothing about these units alone, or if the predicate is no disjunction.
ExprPtr implied_for(const Expr& predicate, const IuSet& ius);

}  // namespace tailor::weft
