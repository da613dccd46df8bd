#include "compiler/weft/optimizer/pull_up.h"

#include <algorithm>
#include <map>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/plan/evaluate.h"

namespace tailor::weft {
namespace {

bool uses(const Expr& e, const IuSet& outer) {
  return intersects(ius_of(e), outer);
}

// The inner unit of "inner = expression over outer units", else null.
const Iu* equated_inner(const Expr& e, const IuSet& outer) {
  if (e.kind() != ExprKind::kCompare || as<CompareExpr>(e).op != CompareOp::kEqual) return nullptr;
  for (int side = 0; side < 2; ++side) {
    const Expr& inner = *e.children[side];
    bool is_inner = inner.kind() == ExprKind::kIu && !outer.contains(as<IuExpr>(inner).iu);
    if (is_inner && is_subset(ius_of(*e.children[1 - side]), outer)) return as<IuExpr>(inner).iu;
  }
  return nullptr;
}

struct Way {
  bool below_group = false;     // only equalities can pass
  bool may_be_missing = false;  // the row of a grouping without keys
};

bool is_count(const LogicalAggregate& a) {
  return a.function == AggregateFunction::kCount || a.function == AggregateFunction::kCountRows;
}

bool can_pass(const Logical& node, const IuSet& outer, Way way) {
  if (!intersects(free_units(node), outer)) return true;
  auto passes = [&](const ExprPtr& e) {
    return !uses(*e, outer) || !way.below_group || equated_inner(*e, outer) != nullptr;
  };
  switch (node.kind) {
    case LogicalKind::kGet:
      return true;
    case LogicalKind::kSelect:
      return std::all_of(node.conjuncts.begin(), node.conjuncts.end(), passes) &&
             can_pass(node.input(), outer, way);
    case LogicalKind::kMap:
      for (const auto& c : node.computations) {
        if (uses(*c.expr, outer)) return false;
      }
      return can_pass(node.input(), outer, way);
    case LogicalKind::kGroup: {
      for (const auto& a : node.aggregates) {
        if (a.argument && uses(*a.argument, outer)) return false;
      }
      // Without keys the group exists even for no rows; pulled up, it does not.
      if (node.keys.empty() && (way.below_group || !way.may_be_missing)) return false;
      way.below_group = true;
      return can_pass(node.input(), outer, way);
    }
    case LogicalKind::kSort:
      return !node.limit && can_pass(node.input(), outer, way);
    case LogicalKind::kJoin:
      break;
  }
  way.may_be_missing = false;
  if (node.join == JoinKind::kInner) {
    return std::all_of(node.conjuncts.begin(), node.conjuncts.end(), passes) &&
           can_pass(*node.inputs[0], outer, way) && can_pass(*node.inputs[1], outer, way);
  }
  bool own = std::any_of(node.conjuncts.begin(), node.conjuncts.end(),
                         [&](const ExprPtr& e) { return uses(*e, outer); });
  return !own && !intersects(free_units(*node.inputs[1]), outer) && can_pass(*node.inputs[0], outer, way);
}

void take(std::vector<ExprPtr>* from, const IuSet& outer, std::vector<ExprPtr>* to) {
  auto correlated =
      std::stable_partition(from->begin(), from->end(), [&](const ExprPtr& e) { return !uses(*e, outer); });
  std::move(correlated, from->end(), std::back_inserter(*to));
  from->erase(correlated, from->end());
}

using Values = std::map<const Iu*, Value>;

// The values of the one row of an aggregation of no rows; `last` are the units computed last.
bool values_of_no_rows(const Logical& node, Values* values, IuSet* last) {
  if (node.kind == LogicalKind::kSelect || (node.kind == LogicalKind::kSort && !node.limit)) {
    return values_of_no_rows(node.input(), values, last);
  }
  if (node.kind == LogicalKind::kMap) {
    if (!values_of_no_rows(node.input(), values, last)) return false;
    last->clear();
    for (const auto& c : node.computations) {
      std::optional<Value> value = evaluate(*c.expr, [&](const Iu* iu) -> const Value* {
        auto found = values->find(iu);
        return found == values->end() ? nullptr : &found->second;
      });
      if (!value) return false;
      values->emplace(c.iu, *std::move(value));
      last->insert(c.iu);
    }
    return true;
  }
  if (node.kind != LogicalKind::kGroup || !node.keys.empty()) return false;
  for (const auto& a : node.aggregates) {
    values->emplace(a.result, is_count(a) ? Value::int64(0) : Value::null_of(a.result->type));
    last->insert(a.result);
  }
  return true;
}

void collect_equated(const Logical& node, const IuSet& outer, bool below_group, bool* has_group,
                     IuSet* units) {
  below_group |= node.kind == LogicalKind::kGroup;
  *has_group |= below_group;
  for (const ExprPtr& e : node.conjuncts) {
    const Iu* unit = below_group && uses(*e, outer) ? equated_inner(*e, outer) : nullptr;
    if (unit != nullptr) units->insert(unit);
  }
  for (const auto& input : node.inputs) collect_equated(*input, outer, below_group, has_group, units);
}

}  // namespace

bool is_null_of_no_rows(const Logical& right) {
  Values values;
  IuSet last;
  if (!values_of_no_rows(right, &values, &last)) return false;
  return std::all_of(last.begin(), last.end(), [&](const Iu* iu) { return values.at(iu).null; });
}

double groups_when_pulled_up(const Logical& right, const IuSet& outer) {
  bool has_group = false;
  IuSet units;
  collect_equated(right, outer, false, &has_group, &units);
  if (!has_group || units.empty()) return 0;
  return estimate_groups({units.begin(), units.end()}, 1e18);
}

bool can_pull_up(const Logical& right, const IuSet& outer, JoinKind kind, bool has_condition) {
  Way way;
  bool pads_or_compares = kind == JoinKind::kSingle || (kind == JoinKind::kSemi && has_condition);
  way.may_be_missing = pads_or_compares && is_null_of_no_rows(right);
  return can_pass(right, outer, way);
}

void pull_up(LogicalPtr* node, const IuSet& outer, std::vector<ExprPtr>* conjuncts) {
  if (!intersects(free_units(**node), outer)) return;
  std::vector<ExprPtr> own;
  bool inner = (*node)->kind == LogicalKind::kJoin && (*node)->join == JoinKind::kInner;
  if (inner || (*node)->kind == LogicalKind::kSelect) take(&(*node)->conjuncts, outer, &own);
  std::size_t inputs = (*node)->kind == LogicalKind::kJoin && !inner ? 1 : (*node)->inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) pull_up(&(*node)->inputs[i], outer, &own);
  if ((*node)->kind == LogicalKind::kGroup) {
    auto& keys = (*node)->keys;
    for (const ExprPtr& e : own) {
      const Iu* unit = equated_inner(*e, outer);
      if (std::find(keys.begin(), keys.end(), unit) == keys.end()) keys.push_back(unit);
    }
  }
  if ((*node)->kind == LogicalKind::kSelect && (*node)->conjuncts.empty())
    *node = std::move((*node)->inputs[0]);
  std::move(own.begin(), own.end(), std::back_inserter(*conjuncts));
}

}  // namespace tailor::weft
