#include "compiler/weft/optimizer/cardinality.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/evaluate.h"

namespace tailor::weft {
namespace {

constexpr double kUnknownShare = 0.3;
constexpr double kLikeShare = 0.1;
constexpr double kAggregateShare = 0.05;  // of a comparison with an aggregate, as in most having clauses
constexpr double kUnknownDistinct = 100;

double distinct_of(const Expr& e) {
  if (e.kind() == ExprKind::kIu) {
    double distinct = as<IuExpr>(e).iu->distinct;
    return distinct > 0 ? distinct : kUnknownDistinct;
  }
  if (e.kind() == ExprKind::kConstant) return 1;
  if (e.kind() == ExprKind::kLike || e.kind() == ExprKind::kInList || e.type.id == TypeId::kBool) return 2;
  double combinations = 1;
  for (const ExprPtr& child : e.children) combinations *= distinct_of(*child);
  if (e.kind() == ExprKind::kSubstring) combinations = std::min(combinations, kUnknownDistinct);
  if (e.type.has_range() && e.range.fits(kRange64)) {
    combinations = std::min(combinations, static_cast<double>(e.range.max - e.range.min) + 1);
  }
  return std::max(combinations, 1.0);
}

// The result of an aggregate, about whose values nothing is known.
bool is_unknown(const Expr& e) {
  return e.kind() == ExprKind::kIu && as<IuExpr>(e).iu->distinct == 0;
}

// Share of a uniform range below a constant.
double share_below(const Expr& e, const Expr& constant) {
  if (constant.kind() != ExprKind::kConstant || !e.type.has_range() || !e.range.fits(kRange64)) {
    return kUnknownShare;
  }
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
      if (is_unknown(left) || is_unknown(right)) return kAggregateShare;
      return left.kind() == ExprKind::kConstant ? 1 - share_below(right, left) : share_below(left, right);
    case CompareOp::kGreater:
    case CompareOp::kGreaterEqual:
      if (is_unknown(left) || is_unknown(right)) return kAggregateShare;
      return left.kind() == ExprKind::kConstant ? share_below(right, left) : 1 - share_below(left, right);
  }
  __builtin_unreachable();
}

// Lower and upper ends of one unit's values among several conjuncts.
struct Bounds {
  double low = 0;
  double high = 1;
};

// "unit < constant" and the like narrow the unit's bounds; true if it was one.
bool narrow(const Expr& e, std::map<const Iu*, Bounds>* bounds) {
  if (e.kind() != ExprKind::kCompare) return false;
  const Expr& left = *e.children[0];
  const Expr& right = *e.children[1];
  CompareOp op = as<CompareExpr>(e).op;
  bool less = op == CompareOp::kLess || op == CompareOp::kLessEqual;
  bool greater = op == CompareOp::kGreater || op == CompareOp::kGreaterEqual;
  bool fits = left.kind() == ExprKind::kIu && right.kind() == ExprKind::kConstant && !is_unknown(left) &&
              left.type.has_range() && left.range.fits(kRange64);
  if (!fits || (!less && !greater)) return false;
  Bounds& b = (*bounds)[as<IuExpr>(left).iu];
  double at = share_below(left, right);
  if (less) b.high = std::min(b.high, at);
  if (greater) b.low = std::max(b.low, at);
  return true;
}

// Independent conjuncts, but for those that bound the same unit from both sides.
double conjunction_share(const std::vector<ExprPtr>& conjuncts) {
  double share = 1;
  std::map<const Iu*, Bounds> bounds;
  for (const ExprPtr& e : conjuncts) {
    if (!narrow(*e, &bounds)) share *= selectivity(*e);
  }
  for (const auto& [iu, b] : bounds) share *= std::max(b.high - b.low, 0.0);
  return share;
}

std::vector<const Expr*> pointers(const std::vector<ExprPtr>& exprs) {
  std::vector<const Expr*> result;
  for (const ExprPtr& e : exprs) result.push_back(e.get());
  return result;
}

// The table in the subtree whose unique key this is.
const Logical* owner_of(const Logical& node, const IuSet& key) {
  if (node.kind == LogicalKind::kGet) return is_subset(key, available(node)) ? &node : nullptr;
  for (const auto& input : node.inputs) {
    if (const Logical* owner = owner_of(*input, key)) return owner;
  }
  return nullptr;
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
    case ExprKind::kAnd:
      return conjunction_share(e.children);
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
  double formula = conjunction_share(conjuncts);
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
  IuSet equated;
  for (const Expr* e : conjuncts) {
    double own = selectivity(*e);
    UnitPair pair = equated_units(*e);
    if (pair.left == nullptr) {
      share *= own;
      continue;
    }
    equal_share *= own;
    equated.insert(pair.left);
    equated.insert(pair.right);
  }
  // Several equalities that cover a key together are as selective as the key.
  for (const Logical* side : {&left, &right}) {
    for (const IuSet& key : unique_keys(*side)) {
      if (key.size() < 2 || !is_subset(key, equated)) continue;
      if (const Logical* owner = owner_of(*side, key))
        equal_share = std::max(equal_share, 1 / estimate(*owner));
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
  for (const Iu* key : keys) groups *= key->distinct > 0 ? key->distinct : kUnknownDistinct;
  return std::max(1.0, std::min(groups, rows));
}

void estimate_distinct(const Logical& node) {
  for (const auto& input : node.inputs) estimate_distinct(*input);
  for (const auto& c : node.computations) {
    // Units are owned by the query's pool, where they are not const.
    if (c.iu->distinct == 0) const_cast<Iu*>(c.iu)->distinct = distinct_of(*c.expr);
  }
}

double estimate(const Logical& node) {
  switch (node.kind) {
    case LogicalKind::kGet:
      return std::max<double>(static_cast<double>(node.table->rows), 1);
    case LogicalKind::kSelect: {
      if (node.input().kind == LogicalKind::kGet) {
        return std::max(estimate(node.input()) * selectivity(node.conjuncts, node.input()), 1.0);
      }
      return std::max(estimate(node.input()) * conjunction_share(node.conjuncts), 1.0);
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
