// Moves predicates to where their units come from, and turns joins into cheaper kinds where predicates allow.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Afterwards a selection stands as low as it can; outer joins whose padded rows a predicate rejects are inner
// joins, and so are single joins that can have no second match. The tree must be free of dependent joins.
LogicalPtr push_down(LogicalPtr root);

}  // namespace tailor::weft
