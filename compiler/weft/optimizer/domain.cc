#include "compiler/weft/optimizer/domain.h"

#include <algorithm>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/make.h"

namespace tailor::weft {
namespace {

// A renamed copy of the part of the subtree that provides `wanted`. Joins, limits and predicates over other
// tables may be left out, since a superset is enough.
LogicalPtr copy_providing(const Logical& node, const IuSet& wanted, IuPool* ius, IuMapping* mapping) {
  switch (node.kind) {
    case LogicalKind::kJoin:
      // A semi join over one table is worth repeating: it makes the set smaller.
      if (node.join == JoinKind::kSemi && region_of(*node.inputs[0]).leaves.size() == 1) break;
      for (const auto& input : node.inputs) {
        if (is_subset(wanted, available(*input))) return copy_providing(*input, wanted, ius, mapping);
      }
      break;
    case LogicalKind::kSort:
      return copy_providing(node.input(), wanted, ius, mapping);
    case LogicalKind::kMap:
      if (is_subset(wanted, available(node.input())))
        return copy_providing(node.input(), wanted, ius, mapping);
      break;
    case LogicalKind::kSelect: {
      LogicalPtr input = copy_providing(node.input(), wanted, ius, mapping);
      std::vector<ExprPtr> kept;
      for (const ExprPtr& e : node.conjuncts) {
        ExprPtr copy = e->clone();
        replace_ius(&copy, *mapping);
        if (is_subset(ius_of(*copy), available(*input))) kept.push_back(std::move(copy));
      }
      return make_select(std::move(input), std::move(kept));
    }
    default:
      break;
  }
  return clone_renamed(node, ius, mapping);
}

bool is_count(const LogicalAggregate& a) {
  return a.function == AggregateFunction::kCount || a.function == AggregateFunction::kCountRows;
}

}  // namespace

double Domain::estimated_rows() const {
  IuMapping mapping;
  return estimate(*instance(&mapping));
}

LogicalPtr Domain::instance(IuMapping* mapping) const {
  IuMapping all;
  LogicalPtr copy = copy_providing(left_, outer_, &ius_, &all);
  auto distinct = std::make_unique<Logical>(LogicalKind::kGroup);
  for (const Iu* iu : outer_) distinct->keys.push_back((*mapping)[iu] = all.at(iu));
  if (is_unique(*copy, IuSet(distinct->keys.begin(), distinct->keys.end()))) return copy;
  distinct->inputs.push_back(std::move(copy));
  return distinct;
}

std::vector<ExprPtr> Domain::equalities(const IuMapping& a, const IuMapping& b) const {
  std::vector<ExprPtr> result;
  for (const Iu* iu : outer_) {
    const Iu* left = a.at(iu);
    const Iu* right = b.at(iu);
    bool nulls = left->type.nullable || right->type.nullable;
    result.push_back(std::make_unique<CompareExpr>(CompareOp::kEqual, make_iu(left), make_iu(right), nulls));
  }
  return result;
}

void Domain::join_with_domain(LogicalPtr* node, IuMapping* mapping) const {
  LogicalPtr domain = instance(mapping);
  *node = make_join(JoinKind::kInner, std::move(domain), std::move(*node), {});
}

void Domain::push_into(LogicalPtr* node, IuMapping* mapping) {
  if (!intersects(free_units(**node), outer_)) {
    join_with_domain(node, mapping);
    return;
  }
  Logical& n = **node;
  if (n.kind == LogicalKind::kJoin) return push_into_join(node, mapping);
  if (n.kind == LogicalKind::kGroup) return push_into_group(node, mapping);
  push_into(&n.inputs[0], mapping);
  for_each_expr(n, [&](ExprPtr& e) { replace_ius(&e, *mapping); });
}

void Domain::push_into_join(LogicalPtr* node, IuMapping* mapping) {
  Logical& n = **node;
  bool in_left = intersects(free_units(*n.inputs[0]), outer_);
  bool in_right = intersects(free_units(*n.inputs[1]), outer_);
  // The preserved side always needs the domain; an inner join can have it on either side.
  if (n.join == JoinKind::kInner && in_right && !in_left) {
    push_into(&n.inputs[1], mapping);
  } else {
    push_into(&n.inputs[0], mapping);
    if (in_right) {
      IuMapping of_right;
      push_into(&n.inputs[1], &of_right);
      for (ExprPtr& e : equalities(*mapping, of_right)) n.conjuncts.push_back(std::move(e));
    }
  }
  for (ExprPtr& e : n.conjuncts) replace_ius(&e, *mapping);
}

void Domain::push_into_group(LogicalPtr* node, IuMapping* mapping) {
  Logical& n = **node;
  bool one_group = n.keys.empty();
  push_into(&n.inputs[0], mapping);
  for_each_expr(n, [&](ExprPtr& e) { replace_ius(&e, *mapping); });
  for (const Iu* iu : outer_) n.keys.push_back(mapping->at(iu));
  if (!one_group || !keeps_empty_groups_) return;
  // Without keys there is a group for every binding, also for one without rows: counts are 0 there.
  std::vector<Map::Computation> zeros;
  for (auto& a : n.aggregates) {
    Iu* result = ius_.make(a.result->name, a.result->type.with_null(true), a.result->range);
    result->distinct = a.result->distinct;
    std::vector<ExprPtr> parts;
    ExprPtr value = make_iu(result);
    if (is_count(a)) {
      parts.push_back(make_is_null(make_iu(result)));
      parts.push_back(make_constant(Value::int64(0)));
      parts.push_back(std::move(value));
      value = std::make_unique<CaseExpr>(std::move(parts));
    }
    zeros.push_back({a.result, std::move(value)});
    a.result = result;
  }
  IuMapping bindings;
  LogicalPtr domain = instance(&bindings);
  std::vector<ExprPtr> condition = equalities(bindings, *mapping);
  *node = make_map(make_join(JoinKind::kOuter, std::move(domain), std::move(*node), std::move(condition)),
                   std::move(zeros));
  *mapping = bindings;
}

}  // namespace tailor::weft
