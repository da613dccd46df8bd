#include "daemon/query/load/plan_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::uint32_t kMaxLevels = 64;
constexpr std::uint32_t kMaxComponents = 1u << 24;  // of a level
constexpr std::uint32_t kMaxDrawn = 1u << 16;       // operators in the tree

const Owners& nobody() {
  static const Owners owners = {{kNoComponent, 1.0}};
  return owners;
}

}  // namespace

PlanModel::PlanModel(v1::Plan plan) : plan_(std::move(plan)) {
  if (plan_.levels_size() > static_cast<int>(kMaxLevels)) {
    plan_.mutable_levels()->DeleteSubrange(kMaxLevels, plan_.levels_size() - static_cast<int>(kMaxLevels));
    ++broken_links_;
  }
  index_levels();
  index_pipelines();
  build_tree();
}

void PlanModel::index_levels() {
  for (const v1::Level& in : plan_.levels()) {
    Level level;
    level.count = std::min(in.component_count(), kMaxComponents);
    for (const v1::Component& component : in.components()) {
      if (component.id() == 0 || component.id() > level.count) {
        ++broken_links_;
      } else {
        level.described[component.id()] = &component;
      }
    }
    levels_.push_back(std::move(level));
  }
}

void PlanModel::index_pipelines() {
  for (const v1::Pipeline& pipeline : plan_.pipelines()) {
    if (pipeline.task_level() >= levels_.size()) {
      ++broken_links_;
      continue;
    }
    Level& level = levels_[pipeline.task_level()];
    for (std::uint32_t task : pipeline.tasks()) {
      if (task == 0 || task > level.count) {
        ++broken_links_;
        continue;
      }
      const auto [it, added] = level.pipeline.try_emplace(task, pipeline.id());
      if (!added && it->second != pipeline.id()) it->second = kManyPipelines;
    }
  }
}

const v1::Component* PlanModel::component(LevelIndex level, ComponentId id) const {
  if (level >= levels_.size()) return nullptr;
  const auto it = levels_[level].described.find(id);
  return it == levels_[level].described.end() ? nullptr : it->second;
}

std::string PlanModel::component_name(LevelIndex level, ComponentId id) const {
  const v1::Component* found = component(level, id);
  if (found != nullptr && !found->name().empty()) return found->name();
  return fmt::format("{} {}", level < levels_.size() ? level_name(level) : "component", id);
}

std::string PlanModel::component_detail(LevelIndex level, ComponentId id) const {
  const v1::Component* found = component(level, id);
  if (found == nullptr) return "";
  for (const v1::Attribute& attribute : found->attributes()) {
    const std::string& key = attribute.key();
    if (key != "table" && key != "predicate" && key != "condition" && key != "details") continue;
    if (!attribute.text().empty() && found->name().find(attribute.text()) == std::string::npos)
      return attribute.text();
  }
  return "";
}

std::uint32_t PlanModel::pipeline_of(LevelIndex level, ComponentId id) const {
  if (level >= levels_.size()) return 0;
  const auto it = levels_[level].pipeline.find(id);
  return it == levels_[level].pipeline.end() || it->second == kManyPipelines ? 0 : it->second;
}

// Of what the plan describes or names as an input, so that the work follows the size of the message, not the
// count it claims.
void PlanModel::build_tree() {
  if (levels_.empty()) return;
  const std::uint32_t count = std::min(levels_[0].count, kMaxDrawn);
  struct Node {
    bool consumed = false, placed = false;
  };
  std::map<ComponentId, Node> nodes;
  for (const auto& [id, op] : levels_[0].described) {
    if (id > count) continue;
    nodes.try_emplace(id);
    for (std::uint32_t input : op->inputs()) {
      if (input == 0 || input > count) {
        ++broken_links_;
      } else if (input != id) {
        nodes[input].consumed = true;
      }
    }
  }
  // With a stack of its own: a plan may be as deep as its sender likes.
  std::vector<TreeNode> stack;
  auto place_below = [&](ComponentId root) {
    stack.push_back({root, 0, true});
    while (!stack.empty()) {
      const TreeNode node = stack.back();
      stack.pop_back();
      if (std::exchange(nodes[node.id].placed, true)) continue;
      tree_.push_back(node);
      const v1::Component* op = component(0, node.id);
      if (op == nullptr) continue;
      for (int i = op->inputs_size() - 1; i >= 0; --i) {
        const std::uint32_t input = op->inputs(i);
        if (input != 0 && input <= count && !nodes[input].placed)
          stack.push_back({input, node.depth + 1, true});
      }
    }
  };
  for (const auto& [id, node] : nodes) {
    if (!node.consumed) place_below(id);
  }
  for (const auto& [id, node] : nodes) place_below(id);  // what only a cycle reaches
  // A node is the last of its siblings if, going on, a lesser depth comes before its own.
  std::map<std::uint32_t, bool> seen;
  for (auto node = tree_.rbegin(); node != tree_.rend(); ++node) {
    node->last = !seen[node->depth];
    seen[node->depth] = true;
    seen.erase(seen.upper_bound(node->depth), seen.end());
  }
}

Owners PlanModel::resolve(std::uint32_t link, const LinkSets& sets, std::uint32_t count) const {
  const std::uint32_t value = link >> 1;
  if ((link & 1) == 0) return value == 0 || value > count ? nobody() : Owners{{value, 1.0}};
  if (value >= static_cast<std::uint32_t>(sets.size())) return nobody();
  std::vector<ComponentId> ids;
  for (std::uint32_t id : sets.Get(static_cast<int>(value)).ids()) {
    if (id != 0 && id <= count) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) return nobody();
  Owners owners;
  for (ComponentId id : ids) owners.push_back({id, 1.0 / static_cast<double>(ids.size())});
  return owners;
}

Owners PlanModel::step_up(LevelIndex level, const Owners& owners) const {
  const v1::Level& lower = plan_.levels(static_cast<int>(level));
  // Many may name the same set: it is resolved once, so that the work follows the size of the message.
  std::map<std::uint32_t, double> links;
  for (const Share& owner : owners) {
    const bool linked =
        owner.id != kNoComponent && owner.id <= static_cast<std::uint32_t>(lower.links_size());
    links[linked ? lower.links(static_cast<int>(owner.id - 1)) : 0] += owner.part;
  }
  std::map<ComponentId, double> parts;
  for (const auto& [link, part] : links) {
    for (const Share& upper : resolve(link, lower.link_sets(), levels_[level - 1].count))
      parts[upper.id] += part * upper.part;
  }
  Owners uppers;
  for (const auto& [id, part] : parts) uppers.push_back({id, part});
  return uppers;
}

std::vector<Owners> PlanModel::lineage(LevelIndex level, std::uint32_t link, const LinkSets& sets) const {
  if (level >= levels_.size()) return {};
  std::vector<Owners> all(level + 1);
  all[level] = resolve(link, sets, levels_[level].count);
  for (LevelIndex l = level; l > 0; --l) all[l - 1] = step_up(l, all[l]);
  return all;
}

Owners PlanModel::owners_of(LevelIndex lower, ComponentId id, LevelIndex level) const {
  auto all = lineage(lower, id << 1, {});
  return level < all.size() ? all[level] : nobody();
}

}  // namespace tailor::query
