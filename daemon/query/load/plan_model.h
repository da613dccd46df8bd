// A plan dictionary as the queries use it: checked once, so that everything behind it can trust ids.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::query {

// A component and its part of a cost. id 0 stands for "no component of this level".
struct Share {
  ComponentId id = kNoComponent;
  double part = 0;
};
// Each id once, ascending; the parts add up to 1.
using Owners = std::vector<Share>;

using LinkSets = google::protobuf::RepeatedPtrField<v1::LinkSet>;

// Immutable. Any Plan is accepted: ids and links that lead nowhere count as 0 (no component) and in
// broken_links().
class PlanModel {
 public:
  explicit PlanModel(v1::Plan plan);
  PlanModel(PlanModel&&) = default;
  PlanModel& operator=(PlanModel&&) = default;
  PlanModel(const PlanModel&) = delete;  // levels_ points into plan_
  PlanModel& operator=(const PlanModel&) = delete;

  const v1::Plan& plan() const { return plan_; }
  const std::string& name() const { return plan_.name(); }
  std::uint32_t level_count() const { return static_cast<std::uint32_t>(levels_.size()); }
  const std::string& level_name(LevelIndex level) const {
    return plan_.levels(static_cast<int>(level)).name();
  }
  std::uint32_t component_count(LevelIndex level) const { return levels_[level].count; }

  // Null where the plan does not describe it.
  const v1::Component* component(LevelIndex level, ComponentId id) const;
  // Its name, or "<level> <id>" where it has none.
  std::string component_name(LevelIndex level, ComponentId id) const;
  // What it works on, where its name does not say so: its table, predicate, condition or details; "" if the
  // plan tells none.
  std::string component_detail(LevelIndex level, ComponentId id) const;

  // Operators of the top level that the plan describes or names as inputs, in the order of a drawn tree: what
  // nobody consumes first, then its inputs; every one exactly once, whatever the inputs say (a second
  // consumer or a cycle does not repeat it).
  struct TreeNode {
    ComponentId id = kNoComponent;
    std::uint32_t depth = 0;
    bool last = true;  // of its siblings
  };
  const std::vector<TreeNode>& tree() const { return tree_; }

  // The owners of a cost at `link` of `level` (encoding of Level.links), on that level and each one above it:
  // result[l] are the owners on level l, and result has level + 1 entries. The cost is split evenly at `link`
  // and at every link on the way up; parts that meet again in one component are added, so it is not shared
  // there. `sets` are the sets that `link` may name. Paper: section 4.2.7, instruction fusing.
  std::vector<Owners> lineage(LevelIndex level, std::uint32_t link, const LinkSets& sets) const;

  // Owners on `level` of component `id` of `lower` (lower >= level).
  Owners owners_of(LevelIndex lower, ComponentId id, LevelIndex level) const;

  // The pipeline whose task list alone names this component, 0 if none or several.
  std::uint32_t pipeline_of(LevelIndex level, ComponentId id) const;

  std::uint64_t broken_links() const { return broken_links_; }

 private:
  struct Level {
    std::uint32_t count = 0;
    // By id. Maps: memory follows what the message holds, not the count it claims.
    std::unordered_map<ComponentId, const v1::Component*> described;
    std::unordered_map<ComponentId, std::uint32_t> pipeline;  // kManyPipelines where several name it
  };
  static constexpr std::uint32_t kManyPipelines = UINT32_MAX;

  void index_levels();
  void index_pipelines();
  void build_tree();
  Owners resolve(std::uint32_t link, const LinkSets& sets, std::uint32_t count) const;
  Owners step_up(LevelIndex level, const Owners& owners) const;

  v1::Plan plan_;
  std::vector<Level> levels_;
  std::vector<TreeNode> tree_;
  std::uint64_t broken_links_ = 0;
};

}  // namespace tailor::query
