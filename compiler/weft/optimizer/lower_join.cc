#include <algorithm>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/optimizer/lowering.h"
#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/print.h"

namespace tailor::weft {
namespace {

bool is_over(const Expr& e, const IuSet& ius) {
  IuSet used = ius_of(e);
  return !used.empty() && is_subset(used, ius);
}

}  // namespace

const Iu* Lowering::key_unit(ExprPtr side, LogicalPtr* input) {
  if (side->kind() == ExprKind::kIu) return as<IuExpr>(*side).iu;
  Iu* unit = ius_.make(to_string(*side), side->type, side->range);
  if (side->kind() == ExprKind::kCast && side->children[0]->kind() == ExprKind::kIu) {
    unit->distinct = as<IuExpr>(*side->children[0]).iu->distinct;
  }
  std::vector<Map::Computation> computation;
  computation.push_back({unit, std::move(side)});
  *input = make_map(std::move(*input), std::move(computation));
  return unit;
}

Lowering::Condition Lowering::split_condition(Logical* join) {
  Condition condition;
  IuSet left = available(*join->inputs[0]), right = available(*join->inputs[1]);
  for (ExprPtr& e : join->conjuncts) {
    bool equal = e->kind() == ExprKind::kCompare && as<CompareExpr>(*e).op == CompareOp::kEqual;
    int left_side = equal && is_over(*e->children[0], left) && is_over(*e->children[1], right)   ? 0
                    : equal && is_over(*e->children[1], left) && is_over(*e->children[0], right) ? 1
                                                                                                 : -1;
    if (left_side < 0) {
      condition.residual.push_back(std::move(e));
      continue;
    }
    bool null_equal = as<CompareExpr>(*e).null_equal;
    const Iu* of_left = key_unit(std::move(e->children[left_side]), &join->inputs[0]);
    const Iu* of_right = key_unit(std::move(e->children[1 - left_side]), &join->inputs[1]);
    condition.keys.push_back({of_left, of_right, null_equal});
  }
  return condition;
}

// The smaller side is built, but for kinds and conditions that need it otherwise.
bool Lowering::builds_left(const Logical& join, bool has_keys) const {
  double left = estimate(*join.inputs[0]), right = estimate(*join.inputs[1]);
  switch (join.join) {
    case JoinKind::kInner:
      return left <= right;
    case JoinKind::kOuter:
    case JoinKind::kSemi:
    // Marking hits and scanning the hash table afterwards has its price: the left has to be clearly smaller.
    case JoinKind::kAnti:
      return has_keys && 2 * left < right;
    case JoinKind::kMark:
    case JoinKind::kSingle:
      return false;
  }
  __builtin_unreachable();
}

OperatorPtr Lowering::lower_join(Logical* node, const IuSet& required) {
  auto join = std::make_unique<HashJoin>();
  describe(join.get(), *node, required);
  Condition condition = split_condition(node);
  bool build_left = builds_left(*node, !condition.keys.empty());
  bool is_free = node->join != JoinKind::kMark && node->join != JoinKind::kSingle;
  if (node->build_left && is_free) build_left = *node->build_left;
  join->join = node->join;
  join->mark = node->mark;
  join->preserved = build_left ? JoinSide::kBuild : JoinSide::kProbe;
  IuSet needed = required, build_keys;
  collect_ius(condition.residual, &needed);
  for (HashJoin::Key key : condition.keys) {
    if (!build_left) std::swap(key.build, key.probe);
    needed.insert(key.build);
    needed.insert(key.probe);
    build_keys.insert(key.build);
    join->keys.push_back(key);
  }
  join->residual = std::move(condition.residual);
  LogicalPtr build = std::move(node->inputs[build_left ? 0 : 1]);
  LogicalPtr probe = std::move(node->inputs[build_left ? 1 : 0]);
  join->build_unique = is_unique(*build, build_keys);
  join->inputs.push_back(lower(std::move(build), needed));
  join->inputs.push_back(lower(std::move(probe), needed));
  return join;
}

}  // namespace tailor::weft
