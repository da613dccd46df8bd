#include "compiler/weft/optimizer/push_down.h"

#include <algorithm>

#include "compiler/weft/optimizer/disjunction.h"
#include "compiler/weft/plan/bounds.h"

namespace tailor::weft {
namespace {

using Conjuncts = std::vector<ExprPtr>;

LogicalPtr push(LogicalPtr node, Conjuncts conjuncts);

// Moves what is over `ius` alone (and over something) from one list to another.
void take_over(const IuSet& ius, Conjuncts* from, Conjuncts* to) {
  for (ExprPtr& e : *from) {
    IuSet used = ius_of(*e);
    if (!used.empty() && is_subset(used, ius)) to->push_back(std::move(e));
  }
  std::erase(*from, nullptr);
}

Conjuncts factored(Conjuncts conjuncts) {
  Conjuncts result;
  for (ExprPtr& e : conjuncts) {
    for (ExprPtr& part : factor_out(std::move(e))) result.push_back(std::move(part));
  }
  return result;
}

void add_implied(const Conjuncts& from, const IuSet& ius, Conjuncts* to) {
  for (const ExprPtr& e : from) {
    if (ExprPtr implied = implied_for(*e, ius)) to->push_back(std::move(implied));
  }
}

// A single join whose right side has at most one match per left row is an outer join.
bool at_most_one_match(const Logical& join) {
  IuSet fixed;
  for (const ExprPtr& e : join.conjuncts) {
    if (e->kind() != ExprKind::kCompare || as<CompareExpr>(*e).op != CompareOp::kEqual) continue;
    IuSet left = available(*join.inputs[0]);
    for (int side = 0; side < 2; ++side) {
      const Expr& unit = *e->children[side];
      if (unit.kind() == ExprKind::kIu && is_subset(ius_of(*e->children[1 - side]), left))
        fixed.insert(as<IuExpr>(unit).iu);
    }
  }
  return is_unique(*join.inputs[1], fixed);
}

// A row for every binding: a grouping without keys, possibly computed with.
bool has_exactly_one_row(const Logical& node) {
  if (node.kind == LogicalKind::kMap || (node.kind == LogicalKind::kSort && !node.limit))
    return has_exactly_one_row(node.input());
  return node.kind == LogicalKind::kGroup && node.keys.empty();
}

void strengthen(Logical* join, const Conjuncts& above) {
  if (join->join == JoinKind::kSingle && join->conjuncts.empty() && has_exactly_one_row(*join->inputs[1])) {
    join->join = JoinKind::kInner;
  }
  if (join->join == JoinKind::kSingle && at_most_one_match(*join)) join->join = JoinKind::kOuter;
  if (join->join != JoinKind::kOuter) return;
  IuSet right = available(*join->inputs[1]);
  bool rejected =
      std::any_of(above.begin(), above.end(), [&](const ExprPtr& e) { return rejects_nulls(*e, right); });
  if (rejected) join->join = JoinKind::kInner;
}

LogicalPtr push_inner(LogicalPtr node, Conjuncts conjuncts) {
  for (ExprPtr& e : node->conjuncts) conjuncts.push_back(std::move(e));
  conjuncts = factored(std::move(conjuncts));
  Conjuncts sides[2];
  for (int side = 0; side < 2; ++side) {
    IuSet ius = available(*node->inputs[side]);
    take_over(ius, &conjuncts, &sides[side]);
    add_implied(conjuncts, ius, &sides[side]);
  }
  for (int side = 0; side < 2; ++side)
    node->inputs[side] = push(std::move(node->inputs[side]), std::move(sides[side]));
  node->conjuncts = std::move(conjuncts);
  return node;
}

LogicalPtr push_join(LogicalPtr node, Conjuncts conjuncts) {
  strengthen(node.get(), conjuncts);
  if (node->join == JoinKind::kInner) return push_inner(std::move(node), std::move(conjuncts));
  node->conjuncts = factored(std::move(node->conjuncts));
  Conjuncts left, right;
  IuSet of_left = available(*node->inputs[0]);
  take_over(of_left, &conjuncts, &left);
  take_over(available(*node->inputs[1]), &node->conjuncts, &right);
  if (node->join == JoinKind::kSemi) take_over(of_left, &node->conjuncts, &left);
  node->inputs[0] = push(std::move(node->inputs[0]), std::move(left));
  node->inputs[1] = push(std::move(node->inputs[1]), std::move(right));
  return make_select(std::move(node), std::move(conjuncts));
}

LogicalPtr push(LogicalPtr node, Conjuncts conjuncts) {
  Conjuncts below;
  switch (node->kind) {
    case LogicalKind::kGet:
      return make_select(std::move(node), std::move(conjuncts));
    case LogicalKind::kSelect:
      for (ExprPtr& e : node->conjuncts) conjuncts.push_back(std::move(e));
      return push(std::move(node->inputs[0]), factored(std::move(conjuncts)));
    case LogicalKind::kJoin:
      return push_join(std::move(node), std::move(conjuncts));
    case LogicalKind::kMap:
      take_over(available(node->input()), &conjuncts, &below);
      break;
    case LogicalKind::kGroup:
      take_over(IuSet(node->keys.begin(), node->keys.end()), &conjuncts, &below);
      break;
    case LogicalKind::kSort:
      if (!node->limit) below = std::exchange(conjuncts, {});
      break;
  }
  node->inputs[0] = push(std::move(node->inputs[0]), std::move(below));
  return make_select(std::move(node), std::move(conjuncts));
}

}  // namespace

LogicalPtr push_down(LogicalPtr root) {
  return push(std::move(root), {});
}

}  // namespace tailor::weft
