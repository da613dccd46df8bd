#include <algorithm>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/optimizer/functional.h"
#include "compiler/weft/optimizer/lowering.h"
#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/make.h"
#include "compiler/weft/plan/print.h"

namespace tailor::weft {

// Arguments become units by a map below. Aggregates nobody needs are dropped.
std::vector<Aggregate> Lowering::lower_aggregates(Logical* node, const IuSet& required) {
  std::vector<Aggregate> result;
  std::vector<Map::Computation> computations;
  std::vector<std::pair<std::string, const Iu*>> known;
  for (auto& a : node->aggregates) {
    if (!required.contains(a.result)) continue;
    Aggregate aggregate{a.function, nullptr, a.result};
    if (a.argument && a.argument->kind() == ExprKind::kIu) {
      aggregate.argument = as<IuExpr>(*a.argument).iu;
    } else if (a.argument) {
      std::string identity = identity_of(*a.argument);
      auto same =
          std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == identity; });
      if (same == known.end()) {
        Iu* unit = ius_.make(to_string(*a.argument), a.argument->type, a.argument->range);
        computations.push_back({unit, std::move(a.argument)});
        same = known.insert(known.end(), {identity, unit});
      }
      aggregate.argument = same->second;
    }
    result.push_back(aggregate);
  }
  node->inputs[0] = make_map(std::move(node->inputs[0]), std::move(computations));
  return result;
}

OperatorPtr Lowering::lower_group(Logical* node, const IuSet& required) {
  if (options_.groupjoin) {
    if (OperatorPtr fused = try_groupjoin(node, required)) return fused;
  }
  return lower_group_by(node, required);
}

OperatorPtr Lowering::lower_group_by(Logical* node, const IuSet& required) {
  auto group = std::make_unique<GroupBy>();
  describe(group.get(), *node, required);
  group->aggregates = lower_aggregates(node, required);
  SplitKeys split = split_keys(node->keys, Dependencies(node->input()));
  // A grouping by constants alone still has no group for no rows.
  if (split.keys.empty() && !split.dependent.empty()) {
    split.keys.push_back(split.dependent.back());
    split.dependent.pop_back();
  }
  group->keys = split.keys;
  for (const Iu* iu : split.dependent) {
    if (required.contains(iu)) group->aggregates.push_back({AggregateFunction::kAny, iu, iu});
  }
  IuSet needed(group->keys.begin(), group->keys.end());
  for (const Aggregate& a : group->aggregates) {
    if (a.argument != nullptr) needed.insert(a.argument);
  }
  group->estimated_rows = estimate_groups(group->keys, estimate(node->input()));
  group->inputs.push_back(lower(std::move(node->inputs[0]), needed));
  return group;
}

namespace {

// The join below a grouping, perhaps with a map between that computes aggregate arguments.
Logical* join_below(Logical* group) {
  Logical* below = group->inputs[0].get();
  if (below->kind == LogicalKind::kMap) below = below->inputs[0].get();
  bool fits = below->kind == LogicalKind::kJoin &&
              (below->join == JoinKind::kInner || below->join == JoinKind::kOuter);
  return fits ? below : nullptr;
}

// Only equalities between units of both sides, so that the hash table decides every match.
bool has_plain_keys(const Logical& join) {
  IuSet left = available(*join.inputs[0]), right = available(*join.inputs[1]);
  for (const ExprPtr& e : join.conjuncts) {
    UnitPair pair = equated_units(*e);
    if (pair.left == nullptr) return false;
    bool across = (left.contains(pair.left) && right.contains(pair.right)) ||
                  (right.contains(pair.left) && left.contains(pair.right));
    if (!across) return false;
  }
  return !join.conjuncts.empty();
}

IuSet key_units(const Logical& join, const IuSet& side) {
  IuSet keys;
  for (const ExprPtr& e : join.conjuncts) {
    UnitPair pair = equated_units(*e);
    keys.insert(side.contains(pair.left) ? pair.left : pair.right);
  }
  return keys;
}

// Whether the side can be the build of a groupjoin: one row per key, groups are its rows, and aggregates use
// the other side only.
bool can_build(const Logical& group, const Logical& join, int side) {
  if (join.join == JoinKind::kOuter && side == 1) return false;
  const Logical& build = *join.inputs[side];
  IuSet built = available(build), probed = available(*join.inputs[1 - side]);
  IuSet keys = key_units(join, built);
  if (!is_unique(build, keys)) return false;
  IuSet grouped(group.keys.begin(), group.keys.end());
  for (const Iu* key : grouped) {
    bool equated = key_units(join, probed).contains(key) && join.join == JoinKind::kInner;
    if (!built.contains(key) && !equated) return false;
  }
  if (!is_subset(keys, Dependencies(*group.inputs[0]).closure(grouped))) return false;
  IuSet used;
  for (const auto& a : group.aggregates) {
    // Padded rows of an outer join count as rows.
    if (!a.argument && join.join == JoinKind::kOuter) return false;
    if (a.argument) collect_ius(*a.argument, &used);
  }
  IuSet computed;
  if (group.inputs[0]->kind == LogicalKind::kMap) {
    for (const auto& c : group.inputs[0]->computations) {
      if (used.contains(c.iu)) collect_ius(*c.expr, &computed);
      used.erase(c.iu);
    }
  }
  used.merge(computed);
  return is_subset(used, probed) && estimate(build) <= estimate(*join.inputs[1 - side]);
}

}  // namespace

OperatorPtr Lowering::try_groupjoin(Logical* node, const IuSet& required) {
  Logical* below = join_below(node);
  if (below == nullptr || node->keys.empty() || !has_plain_keys(*below)) return nullptr;
  int side = can_build(*node, *below, 0) ? 0 : can_build(*node, *below, 1) ? 1 : -1;
  if (side < 0) return nullptr;
  auto fused = std::make_unique<GroupJoin>();
  describe(fused.get(), *node, required);
  fused->outer = below->join == JoinKind::kOuter;
  // Arguments are computed on the probe side.
  std::vector<Map::Computation> computations;
  if (node->inputs[0]->kind == LogicalKind::kMap) {
    computations = std::move(node->inputs[0]->computations);
    node->inputs[0] = std::move(node->inputs[0]->inputs[0]);
  }
  LogicalPtr join = std::move(node->inputs[0]);
  node->inputs[0] = make_map(std::move(join->inputs[1 - side]), std::move(computations));
  fused->aggregates = lower_aggregates(node, required);
  LogicalPtr build = std::move(join->inputs[side]);
  IuSet built = available(*build), build_needs, probe_needs;
  std::vector<Map::Computation> renamed;  // group keys of the probe side are the build side's
  for (const ExprPtr& e : join->conjuncts) {
    UnitPair pair = equated_units(*e);
    if (!built.contains(pair.left)) std::swap(pair.left, pair.right);
    fused->keys.push_back({pair.left, pair.right, as<CompareExpr>(*e).null_equal});
    build_needs.insert(pair.left);
    probe_needs.insert(pair.right);
    bool wanted = required.contains(pair.right) && std::erase(fused->outputs, pair.right) > 0;
    if (!wanted) continue;
    renamed.push_back({pair.right, make_iu(pair.left)});
    if (!required.contains(pair.left)) fused->outputs.push_back(pair.left);
  }
  for (const Iu* iu : fused->outputs) {
    if (built.contains(iu)) build_needs.insert(iu);
  }
  for (const Aggregate& a : fused->aggregates) {
    if (a.argument != nullptr) probe_needs.insert(a.argument);
  }
  double rows = estimate(*build);
  fused->estimated_rows = fused->outer ? rows : std::min(rows, estimate(node->input()));
  fused->inputs.push_back(lower(std::move(build), build_needs));
  fused->inputs.push_back(lower(std::move(node->inputs[0]), probe_needs));
  if (renamed.empty()) return fused;
  auto map = std::make_unique<Map>();
  map->estimated_rows = fused->estimated_rows;
  map->max_rows = fused->max_rows;
  for (const Iu* iu : required) {
    bool available_above =
        std::find(fused->outputs.begin(), fused->outputs.end(), iu) != fused->outputs.end() ||
        std::any_of(renamed.begin(), renamed.end(), [&](const auto& c) { return c.iu == iu; });
    if (available_above) map->outputs.push_back(iu);
  }
  map->computations = std::move(renamed);
  map->inputs.push_back(std::move(fused));
  return map;
}

}  // namespace tailor::weft
