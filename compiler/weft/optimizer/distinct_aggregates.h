// count(distinct x) and the like as a grouping of a grouping.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Rewrites every grouping with distinct aggregates of one argument: an inner grouping by the keys and the
// argument, an outer one that combines its partial results. The binder sees to it
// that there is one.
void split_distinct(LogicalPtr* root, IuPool* ius);

}  // namespace tailor::weft
