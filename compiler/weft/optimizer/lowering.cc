#include "compiler/weft/optimizer/lowering.h"

#include <algorithm>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/optimizer/common_subexpressions.h"
#include "compiler/weft/plan/bounds.h"

namespace tailor::weft {
namespace {

IuSet intersection(const IuSet& a, const IuSet& b) {
  IuSet result;
  for (const Iu* iu : a) {
    if (b.contains(iu)) result.insert(iu);
  }
  return result;
}

// Cheap tests that drop many rows first.
double rank(const Expr& e) {
  double cost = e.kind() == ExprKind::kLike ? 20 : e.kind() == ExprKind::kInList ? 3 : 1;
  if (!e.children.empty() && e.children[0]->width() == Width::kString) cost += 4;
  cost += 2 * static_cast<double>(e.kind() == ExprKind::kOr ? e.children.size() : 0);
  return cost / std::max(1 - selectivity(e), 0.01);
}

void sort_conjuncts(std::vector<ExprPtr>* conjuncts) {
  std::stable_sort(conjuncts->begin(), conjuncts->end(),
                   [](const ExprPtr& a, const ExprPtr& b) { return rank(*a) < rank(*b); });
}

}  // namespace

void describe(Operator* op, const Logical& node, const IuSet& required) {
  for (const Iu* iu : intersection(required, available(node))) op->outputs.push_back(iu);
  op->estimated_rows = estimate(node);
  op->max_rows = max_rows(node);
}

OperatorPtr Lowering::lower(LogicalPtr node, const IuSet& required) {
  switch (node->kind) {
    case LogicalKind::kGet:
      return lower_get(*node, {}, required);
    case LogicalKind::kSelect:
      return lower_select(node.get(), required);
    case LogicalKind::kMap:
      return lower_map(node.get(), required);
    case LogicalKind::kJoin:
      return lower_join(node.get(), required);
    case LogicalKind::kGroup:
      return lower_group(node.get(), required);
    case LogicalKind::kSort:
      return lower_sort(node.get(), required);
  }
  __builtin_unreachable();
}

OperatorPtr Lowering::lower_get(const Logical& node, std::vector<ExprPtr> conjuncts, const IuSet& required) {
  auto scan = std::make_unique<Scan>(node.table);
  describe(scan.get(), node, required);
  scan->alias = node.alias;
  IuSet read = required;
  collect_ius(conjuncts, &read);
  for (const auto& column : node.columns) {
    if (read.contains(column.iu)) scan->columns.push_back(column);
  }
  sort_conjuncts(&conjuncts);
  scan->conjuncts = std::move(conjuncts);
  return scan;
}

OperatorPtr Lowering::lower_select(Logical* node, const IuSet& required) {
  double rows = estimate(*node);
  std::uint64_t bound = max_rows(*node);
  if (node->input().kind == LogicalKind::kGet) {
    OperatorPtr scan = lower_get(node->input(), std::move(node->conjuncts), required);
    scan->estimated_rows = rows;
    scan->max_rows = bound;
    return scan;
  }
  auto filter = std::make_unique<Filter>();
  describe(filter.get(), *node, required);
  IuSet needed = required;
  collect_ius(node->conjuncts, &needed);
  filter->conjuncts = std::move(node->conjuncts);
  sort_conjuncts(&filter->conjuncts);
  filter->inputs.push_back(lower(std::move(node->inputs[0]), needed));
  return filter;
}

OperatorPtr Lowering::lower_map(Logical* node, const IuSet& required) {
  auto map = std::make_unique<Map>();
  describe(map.get(), *node, required);
  // From the last computation back, so that what a needed one uses is needed too.
  IuSet needed = required;
  for (auto it = node->computations.rbegin(); it != node->computations.rend(); ++it) {
    if (!needed.contains(it->iu)) continue;
    needed.erase(it->iu);
    collect_ius(*it->expr, &needed);
    map->computations.push_back(std::move(*it));
  }
  std::reverse(map->computations.begin(), map->computations.end());
  OperatorPtr input = lower(std::move(node->inputs[0]), needed);
  if (map->computations.empty()) return input;
  share_common(&map->computations, &ius_);
  map->inputs.push_back(std::move(input));
  return map;
}

OperatorPtr Lowering::lower_sort(Logical* node, const IuSet& required) {
  if (node->order.empty()) {
    auto limit = std::make_unique<Limit>();
    describe(limit.get(), *node, required);
    limit->limit = *node->limit;
    limit->inputs.push_back(lower(std::move(node->inputs[0]), required));
    return limit;
  }
  auto sort = std::make_unique<Sort>();
  describe(sort.get(), *node, required);
  IuSet needed = required;
  for (const auto& key : node->order) needed.insert(key.iu);
  sort->keys = node->order;
  sort->limit = node->limit;
  sort->inputs.push_back(lower(std::move(node->inputs[0]), needed));
  return sort;
}

}  // namespace tailor::weft
