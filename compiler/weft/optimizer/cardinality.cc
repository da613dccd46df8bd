#include "compiler/weft/optimizer/cardinality.h"

#include <algorithm>
#include <cmath>

#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/evaluate.h"

namespace tailor::weft {
namespace {

constexpr double kUnknownShare = 0.3;
constexpr double kLikeShare = 0.1;

double distinct_of(const Expr& e) {
  if (e.kind() == ExprKind::kIu) return std::max(as<IuExpr>(e).iu->distinct, 1.0);
  if (e.kind() == ExprKind::kCast || e.kind() == ExprKind::kBurn) return distinct_of(*e.children[0]);
  if (e.type.has_range() && e.range.fits(kRange64)) {
    return std::clamp(static_cast<double>(e.range.max - e.range.min) + 1, 1.0, 1e6);
  }
  return 100;
}

// Share of a uniform range below a constant.
double share_below(const Expr& e, const Expr& constant) {
  if (constant.kind() != ExprKind::kConstant || !e.type.has_range() || !e.range.fits(kRange64))
    return kUnknownShare;
  double min = static_cast<double>(e.range.min), max = static_cast<double>(e.range.max);
  double at = static_cast<double>(as<ConstantExpr>(constant).value.integer);
  return max > min ? std::clamp((at - min) / (max - min), 0.0, 1.0) : 0.5;
}

double compare_share(const CompareExpr& e) {
  const Expr& left = *e.children[0];
  const Expr& right = *e.children[1];
  double equal = 1 / std::max(left.kind() == ExprKind::kConstant ? 1.0 : distinct_of(left),
                              right.kind() == ExprKind::kConstant ? 1.0 : distinct_of(right));
  switch (e.op) {
    case CompareOp::kEqual:
      return equal;
    case CompareOp::kNotEqual:
      return 1 - equal;
    case CompareOp::kLess:
    case CompareOp::kLessEqual:
      return left.kind() == ExprKind::kConstant ? 1 - share_below(right, left) : share_below(left, right);
    case CompareOp::kGreater:
    case CompareOp::kGreaterEqual:
      return left.kind() == ExprKind::kConstant ? share_below(right, left) : 1 - share_below(left, right);
  }
  __builtin_unreachable();
}

std::vector<const Expr*> pointers(const std::vector<ExprPtr>& exprs) {
  std::vector<const Expr*> result;
  for (const ExprPtr& e : exprs) result.push_back(e.get());
  return result;
}

// The side's rows before selections: what a key is unique in.
double base_rows(const Logical& node) {
  if (node.kind == LogicalKind::kSelect || node.kind == LogicalKind::kMap) return base_rows(node.input());
  return node.kind == LogicalKind::kGet ? static_cast<double>(node.table->rows) : estimate(node);
}

double estimate_join(const Logical& node) {
  double left = estimate(*node.inputs[0]), right = estimate(*node.inputs[1]);
  double pairs = left * right * join_selectivity(pointers(node.conjuncts), *node.inputs[0], *node.inputs[1]);
  switch (node.join) {
    case JoinKind::kInner:
      return std::max(pairs, 1.0);
    case JoinKind::kOuter:
      return std::max(pairs, left);
    case JoinKind::kSemi:
      return std::max(left * match_share(node, right), 1.0);
    case JoinKind::kAnti:
      return std::max(left * (1 - match_share(node, right)), 1.0);
    case JoinKind::kMark:
    case JoinKind::kSingle:
      return left;
  }
  __builtin_unreachable();
}

}  // namespace

double selectivity(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kConstant:
      return as<ConstantExpr>(e).value.integer != 0 ? 1 : 0;
    case ExprKind::kCompare:
      return compare_share(as<CompareExpr>(e));
    case ExprKind::kAnd: {
      double share = 1;
      for (const ExprPtr& child : e.children) share *= selectivity(*child);
      return share;
    }
    case ExprKind::kOr: {
      double none = 1;
      for (const ExprPtr& child : e.children) none *= 1 - selectivity(*child);
      return 1 - none;
    }
    case ExprKind::kNot:
      return 1 - selectivity(*e.children[0]);
    case ExprKind::kLike:
      return kLikeShare;
    case ExprKind::kInList:
      return std::min(1.0,
                      static_cast<double>(as<InListExpr>(e).values.size()) / distinct_of(*e.children[0]));
    case ExprKind::kIsNull:
      return 0.1;
    default:
      return kUnknownShare;
  }
}

double selectivity(const std::vector<ExprPtr>& conjuncts, const Logical& get) {
  double formula = 1;
  for (const ExprPtr& e : conjuncts) formula *= selectivity(*e);
  const auto& sample = get.table->sample;
  if (sample.empty()) return formula;
  std::size_t hits = 0;
  for (const auto& row : sample) {
    IuValues values = [&](const Iu* iu) -> const Value* {
      for (const auto& column : get.columns) {
        if (column.iu == iu) return &row[column.index];
      }
      return nullptr;
    };
    hits += std::all_of(conjuncts.begin(), conjuncts.end(), [&](const ExprPtr& e) {
      std::optional<Value> value = evaluate(*e, values);
      return value && !value->null && value->integer != 0;
    });
  }
  double size = static_cast<double>(sample.size());
  // Below what the sample can resolve, the formula has a say.
  return hits > 0 ? static_cast<double>(hits) / size : std::min(formula, 0.5 / size);
}

double join_selectivity(const std::vector<const Expr*>& conjuncts, const Logical& left,
                        const Logical& right) {
  double share = 1, equal_share = 1;
  IuSet equated[2];
  for (const Expr* e : conjuncts) {
    double own = selectivity(*e);
    UnitPair pair = equated_units(*e);
    if (pair.left == nullptr) {
      share *= own;
      continue;
    }
    equal_share *= own;
    for (const Iu* iu : {pair.left, pair.right}) {
      equated[0].insert(iu);
      equated[1].insert(iu);
    }
  }
  // Several equalities that cover a key together are as selective as the key.
  const Logical* sides[] = {&left, &right};
  for (int side = 0; side < 2 && equal_share < 1; ++side) {
    for (const IuSet& key : unique_keys(*sides[side])) {
      if (is_subset(key, equated[side]))
        equal_share = std::max(equal_share, 1 / std::max(base_rows(*sides[side]), 1.0));
    }
  }
  return share * equal_share;
}

double match_share(const Logical& join, double right_rows) {
  double share = 1;
  bool has_key = false;
  IuSet right = available(*join.inputs[1]);
  for (const ExprPtr& e : join.conjuncts) {
    if (e->kind() != ExprKind::kCompare || as<CompareExpr>(*e).op != CompareOp::kEqual) {
      share *= 0.9;
      continue;
    }
    int right_side = is_subset(ius_of(*e->children[0]), right) ? 0 : 1;
    double of_left = distinct_of(*e->children[1 - right_side]);
    double of_right = std::min(distinct_of(*e->children[right_side]), right_rows);
    share *= std::min(1.0, of_right / of_left);
    has_key = true;
  }
  return std::clamp(has_key ? share : 0.5, 0.001, 0.95);
}

double estimate_groups(const std::vector<const Iu*>& keys, double rows) {
  double groups = 1;
  for (const Iu* key : keys) groups *= std::max(key->distinct, 1.0);
  return std::max(1.0, std::min(groups, rows));
}

double estimate(const Logical& node) {
  switch (node.kind) {
    case LogicalKind::kGet:
      return std::max<double>(static_cast<double>(node.table->rows), 1);
    case LogicalKind::kSelect: {
      if (node.input().kind == LogicalKind::kGet) {
        return std::max(estimate(node.input()) * selectivity(node.conjuncts, node.input()), 1.0);
      }
      double share = 1;
      for (const ExprPtr& e : node.conjuncts) share *= selectivity(*e);
      return std::max(estimate(node.input()) * share, 1.0);
    }
    case LogicalKind::kMap:
      return estimate(node.input());
    case LogicalKind::kGroup:
      return estimate_groups(node.keys, estimate(node.input()));
    case LogicalKind::kSort: {
      double rows = estimate(node.input());
      return node.limit ? std::min(rows, static_cast<double>(*node.limit)) : rows;
    }
    case LogicalKind::kJoin:
      return estimate_join(node);
  }
  __builtin_unreachable();
}

}  // namespace tailor::weft
