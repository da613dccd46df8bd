// Proven upper bounds of row counts, from table sizes, unique keys and equality predicates. Sums and physical
// widths rest on them.
#pragma once

#include <cstdint>

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// The most rows the subtree can produce (for one binding of its free units); UINT64_MAX if that is not known.
std::uint64_t max_rows(const Logical& node);

// A tree of selections and inner joins, taken apart.
struct Region {
  std::vector<const Logical*> leaves;
  std::vector<const Expr*> conjuncts;
};
Region region_of(const Logical& node);

// Sets of units no two rows of the subtree agree in (nulls aside). An empty set: at most one row.
std::vector<IuSet> unique_keys(const Logical& node);
// True if rows of the subtree that agree in `ius` are one row.
bool is_unique(const Logical& node, const IuSet& ius);

// Both sides when the conjunct is "unit = unit".
struct UnitPair {
  const Iu* left = nullptr;
  const Iu* right = nullptr;
};
UnitPair equated_units(const Expr& conjunct);

}  // namespace tailor::weft
