#include "compiler/weft/optimizer/functional.h"

#include <algorithm>

#include "compiler/weft/plan/bounds.h"

namespace tailor::weft {

void Dependencies::collect_equalities(const Logical& node) {
  for (const ExprPtr& e : node.conjuncts) {
    UnitPair pair = equated_units(*e);
    if (pair.left == nullptr) continue;
    dependencies_.push_back({{pair.left}, {pair.right}});
    dependencies_.push_back({{pair.right}, {pair.left}});
  }
}

void Dependencies::collect(const Logical& node) {
  bool left_only =
      node.kind == LogicalKind::kJoin &&
      (node.join == JoinKind::kSemi || node.join == JoinKind::kAnti || node.join == JoinKind::kMark);
  for (std::size_t i = 0; i < (left_only ? 1 : node.inputs.size()); ++i) collect(*node.inputs[i]);
  switch (node.kind) {
    case LogicalKind::kGet:
      for (IuSet& key : unique_keys(node)) dependencies_.push_back({std::move(key), available(node)});
      break;
    case LogicalKind::kSelect:
      collect_equalities(node);
      break;
    case LogicalKind::kMap:
      for (const auto& c : node.computations) dependencies_.push_back({ius_of(*c.expr), {c.iu}});
      break;
    case LogicalKind::kJoin:
      if (node.join == JoinKind::kInner) collect_equalities(node);
      break;
    case LogicalKind::kGroup:
      dependencies_.push_back({IuSet(node.keys.begin(), node.keys.end()), available(node)});
      break;
    case LogicalKind::kSort:
      break;
  }
}

IuSet Dependencies::closure(IuSet given) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependency& d : dependencies_) {
      if (!is_subset(d.from, given) || is_subset(d.to, given)) continue;
      given.insert(d.to.begin(), d.to.end());
      changed = true;
    }
  }
  return given;
}

SplitKeys split_keys(const std::vector<const Iu*>& keys, const Dependencies& dependencies) {
  SplitKeys result{keys, {}};
  // The widest first: they are the dearest to hash and compare.
  std::vector<const Iu*> order = keys;
  std::stable_sort(order.begin(), order.end(),
                   [](const Iu* a, const Iu* b) { return a->width() > b->width(); });
  for (const Iu* candidate : order) {
    IuSet others(result.keys.begin(), result.keys.end());
    others.erase(candidate);
    if (!dependencies.closure(others).contains(candidate)) continue;
    std::erase(result.keys, candidate);
    result.dependent.push_back(candidate);
  }
  return result;
}

}  // namespace tailor::weft
