// count(distinct x) and the like as a grouping of a grouping.
#pragma once

#include "compiler/weft/plan/logical.h"
#include "proto/base/result.h"

namespace tailor::weft {

// Rewrites every grouping with distinct aggregates of one argument: an inner grouping by the keys and the
// argument, an outer one that combines its partial results. Several arguments in one grouping are an error.
Status split_distinct(LogicalPtr* root, IuPool* ius);

}  // namespace tailor::weft
