// Questions about expressions and rewrites of them.
#pragma once

#include <functional>
#include <set>
#include <unordered_map>

#include "compiler/weft/plan/expression.h"

namespace tailor::weft {

struct IuLess {
  bool operator()(const Iu* a, const Iu* b) const { return a->id < b->id; }
};
// Ordered by id, so that plans do not depend on addresses.
using IuSet = std::set<const Iu*, IuLess>;
using IuMapping = std::unordered_map<const Iu*, const Iu*>;

void collect_ius(const Expr& expr, IuSet* ius);
void collect_ius(const std::vector<ExprPtr>& exprs, IuSet* ius);
IuSet ius_of(const Expr& expr);

bool is_subset(const IuSet& part, const IuSet& whole);
bool intersects(const IuSet& a, const IuSet& b);

// Replaces units; a unit that is not in the mapping stays.
void replace_ius(ExprPtr* expr, const IuMapping& mapping);
// Replaces whole nodes: where `replacement` gives an expression, it stands for the node.
void replace_nodes(ExprPtr* expr, const std::function<ExprPtr(const Expr&)>& replacement);

// Equal keys: the same computation over the same units. Operands of commutative operations are in one order.
std::string identity_of(const Expr& expr);

// True when the predicate cannot be true if all of `ius` are null: it rejects the rows an outer join adds.
bool rejects_nulls(const Expr& predicate, const IuSet& ius);
// True when the value is null if all of `ius` are null.
bool null_if_null(const Expr& expr, const IuSet& ius);

}  // namespace tailor::weft
