#include "compiler/weft/plan/bounds.h"

#include <algorithm>

namespace tailor::weft {
namespace {

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

// Units whose value is known once the units in `fixed` are: equal to one of them, or to a constant.
IuSet closure(IuSet fixed, const std::vector<const Expr*>& conjuncts) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Expr* e : conjuncts) {
      if (e->kind() != ExprKind::kCompare || as<CompareExpr>(*e).op != CompareOp::kEqual) continue;
      for (int side = 0; side < 2; ++side) {
        const Expr& target = *e->children[side];
        if (target.kind() != ExprKind::kIu || fixed.contains(as<IuExpr>(target).iu)) continue;
        if (!is_subset(ius_of(*e->children[1 - side]), fixed)) continue;
        fixed.insert(as<IuExpr>(target).iu);
        changed = true;
      }
    }
  }
  return fixed;
}

bool unique_given(const Logical& leaf, const IuSet& fixed) {
  return is_unique(leaf, fixed);
}

// Rows of the region when leaf `start` drives it: leaves found by a unique key add no factor.
std::uint64_t bound_from(const Region& region, std::size_t start) {
  std::vector<bool> done(region.leaves.size(), false);
  std::uint64_t rows = max_rows(*region.leaves[start]);
  IuSet included = available(*region.leaves[start]);
  done[start] = true;
  for (std::size_t left = region.leaves.size() - 1; left > 0; --left) {
    IuSet fixed = closure(included, region.conjuncts);
    std::size_t next = region.leaves.size();
    std::uint64_t next_rows = UINT64_MAX;
    for (std::size_t i = 0; i < region.leaves.size(); ++i) {
      if (done[i]) continue;
      std::uint64_t factor = unique_given(*region.leaves[i], fixed) ? 1 : max_rows(*region.leaves[i]);
      if (next == region.leaves.size() || factor < next_rows) {
        next = i;
        next_rows = factor;
      }
    }
    rows = product(rows, next_rows);
    done[next] = true;
    included.merge(available(*region.leaves[next]));
  }
  return rows;
}

std::uint64_t region_bound(const Logical& node) {
  Region region = region_of(node);
  if (region.leaves.size() == 1) {
    return unique_given(*region.leaves[0], closure({}, region.conjuncts)) ? 1 : max_rows(*region.leaves[0]);
  }
  std::uint64_t best = UINT64_MAX;
  for (std::size_t start = 0; start < region.leaves.size(); ++start) {
    best = std::min(best, bound_from(region, start));
  }
  return best;
}

void flatten(const Logical& node, Region* region) {
  bool inner = node.kind == LogicalKind::kJoin && node.join == JoinKind::kInner;
  if (node.kind != LogicalKind::kSelect && !inner) {
    region->leaves.push_back(&node);
    return;
  }
  for (const ExprPtr& e : node.conjuncts) region->conjuncts.push_back(e.get());
  for (const auto& input : node.inputs) flatten(*input, region);
}

std::vector<const Expr*> pointers(const std::vector<ExprPtr>& exprs) {
  std::vector<const Expr*> result;
  for (const ExprPtr& e : exprs) result.push_back(e.get());
  return result;
}

// Keys of an inner join: those of a side that survive because the other side adds at most one match.
std::vector<IuSet> keys_of_region(const Logical& node) {
  Region region = region_of(node);
  std::vector<IuSet> keys;
  for (std::size_t start = 0; start < region.leaves.size(); ++start) {
    std::vector<bool> done(region.leaves.size(), false);
    done[start] = true;
    IuSet fixed = closure(available(*region.leaves[start]), region.conjuncts);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < region.leaves.size(); ++i) {
        if (done[i] || !unique_given(*region.leaves[i], fixed)) continue;
        done[i] = changed = true;
        fixed.merge(available(*region.leaves[i]));
        fixed = closure(std::move(fixed), region.conjuncts);
      }
    }
    if (!std::all_of(done.begin(), done.end(), [](bool d) { return d; })) continue;
    for (IuSet& key : unique_keys(*region.leaves[start])) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<IuSet> keys_of_get(const Logical& node) {
  std::vector<IuSet> keys;
  for (const auto& columns : node.table->unique_keys) {
    IuSet key;
    for (const auto& column : node.columns) {
      if (std::find(columns.begin(), columns.end(), column.index) != columns.end()) key.insert(column.iu);
    }
    if (key.size() == columns.size()) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

UnitPair equated_units(const Expr& e) {
  if (e.kind() != ExprKind::kCompare || as<CompareExpr>(e).op != CompareOp::kEqual) return {};
  if (e.children[0]->kind() != ExprKind::kIu || e.children[1]->kind() != ExprKind::kIu) return {};
  return {as<IuExpr>(*e.children[0]).iu, as<IuExpr>(*e.children[1]).iu};
}

Region region_of(const Logical& node) {
  Region region;
  flatten(node, &region);
  return region;
}

std::vector<IuSet> unique_keys(const Logical& node) {
  switch (node.kind) {
    case LogicalKind::kGet:
      return keys_of_get(node);
    case LogicalKind::kMap:
    case LogicalKind::kSort:
      return unique_keys(node.input());
    case LogicalKind::kSelect:
      return keys_of_region(node);
    case LogicalKind::kGroup:
      return {IuSet(node.keys.begin(), node.keys.end())};
    case LogicalKind::kJoin:
      break;
  }
  if (node.join == JoinKind::kInner) return keys_of_region(node);
  std::vector<IuSet> left = unique_keys(*node.inputs[0]);
  if (node.join != JoinKind::kOuter) return left;
  IuSet fixed = closure(available(*node.inputs[0]), pointers(node.conjuncts));
  return is_unique(*node.inputs[1], fixed) ? left : std::vector<IuSet>();
}

bool is_unique(const Logical& node, const IuSet& ius) {
  if (max_rows(node) <= 1) return true;
  // Units that follow from the given ones within the subtree count as given.
  Region region = region_of(node);
  IuSet fixed = closure(ius, region.conjuncts);
  std::vector<IuSet> keys = unique_keys(node);
  return std::any_of(keys.begin(), keys.end(), [&](const IuSet& key) { return is_subset(key, fixed); });
}

std::uint64_t max_rows(const Logical& node) {
  switch (node.kind) {
    case LogicalKind::kGet:
      return node.table->rows;
    case LogicalKind::kMap:
      return max_rows(node.input());
    case LogicalKind::kSort:
      return std::min(max_rows(node.input()), node.limit.value_or(UINT64_MAX));
    case LogicalKind::kGroup:
      return node.keys.empty() ? 1 : max_rows(node.input());
    case LogicalKind::kSelect:
      return region_bound(node);
    case LogicalKind::kJoin:
      break;
  }
  if (node.join == JoinKind::kInner) return region_bound(node);
  std::uint64_t left = max_rows(*node.inputs[0]);
  if (node.join != JoinKind::kOuter) return left;
  IuSet fixed = closure(available(*node.inputs[0]), pointers(node.conjuncts));
  if (is_unique(*node.inputs[1], fixed)) return left;
  return product(left, std::max<std::uint64_t>(max_rows(*node.inputs[1]), 1));
}

}  // namespace tailor::weft
