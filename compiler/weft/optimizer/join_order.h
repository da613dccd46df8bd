// Orders joins by dynamic programming over sets of inputs (DPsub), up to kMaxDynamic of them, greedily above.
//
// A region is a maximal tree of selections and joins. Right inputs of semi, anti, mark, outer and single
// joins take part in the ordering as members that can only be joined alone, once everything their condition
// needs of the left is there; so a selective semi join can run early and an expensive one late.
#pragma once

#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

inline constexpr std::size_t kMaxDynamic = 12;

// Orders every region of the tree. Predicates must have been pushed down. If joins are forced by `leading`,
// an error tells when no region has all its tables, or when no valid order does what it says.
Result<LogicalPtr> order_joins(LogicalPtr root, const std::optional<JoinTree>& leading);

// Work of a hash join in arbitrary units: building costs more per row than probing, and both get dearer as
// the hash table leaves the caches.
double join_cost(double build_rows, double probe_rows, double output_rows);

}  // namespace tailor::weft
