// Removes dependent joins: after it no join input uses units of the other input.
//
// Where it suffices, correlated conjuncts are pulled up into the join (equalities through groupings, by
// adding group keys). Otherwise the subquery is evaluated for the set of all bindings its outer references
// can have (the domain), as in Neumann, Kemper: "Unnesting Arbitrary Queries", BTW 2015.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// The binder sees to it that no limit lies in a correlated subquery.
void unnest(LogicalPtr* root, IuPool* ius);

}  // namespace tailor::weft
