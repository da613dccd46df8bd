#include "daemon/process/plan_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tailor/tag.h"

namespace tailor::process {
namespace {

// A graph over nodes 0 .. n-1, in three pieces of memory however many edges it has.
class Graph {
 public:
  explicit Graph(std::size_t nodes) : first_(nodes + 1) {}

  void add(std::uint32_t from, std::uint32_t to) {
    edges_.push_back({from, to});
    ++first_[from + 1];
  }

  // True if the edges lead back to where they came from. Iterative: depth is what the engine says it is.
  bool has_cycle() {
    sort_edges();
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    std::vector<Mark> marks(first_.size() - 1, Mark::kNew);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path;  // nodes, and the next edge of each
    for (std::uint32_t start = 0; start < marks.size(); ++start) {
      if (marks[start] != Mark::kNew) continue;
      path.push_back({start, first_[start]});
      marks[start] = Mark::kOpen;
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next == first_[node + 1]) {
          marks[node] = Mark::kDone;
          path.pop_back();
          continue;
        }
        const std::uint32_t target = edges_[next++].second;
        if (marks[target] == Mark::kOpen) return true;
        if (marks[target] == Mark::kDone) continue;
        marks[target] = Mark::kOpen;
        path.push_back({target, first_[target]});
      }
    }
    return false;
  }

 private:
  void sort_edges() {
    std::ranges::sort(edges_, {}, &Edge::first);
    for (std::size_t node = 1; node < first_.size(); ++node) first_[node] += first_[node - 1];
  }

  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t>
      first_;  // edge of each node, once they are sorted; until then how many the one before has
};

std::string check_links(const v1::Level& level, std::uint32_t above) {
  if (static_cast<std::uint32_t>(level.links_size()) != level.component_count()) {
    return fmt::format("{} links for {} components", level.links_size(), level.component_count());
  }
  std::string sets = check_link_sets(level.link_sets(), above);
  if (!sets.empty()) return sets;
  for (std::uint32_t link : level.links()) {
    if (!link_exists(link, above, static_cast<std::uint32_t>(level.link_sets_size()))) {
      return fmt::format("link {} leads nowhere", link);
    }
  }
  return {};
}

// Those that are described, in order: a message that claims millions and describes one costs one.
using Described = std::vector<std::uint32_t>;

std::string check_components(const v1::Level& level, Described& described) {
  described.reserve(static_cast<std::size_t>(level.components_size()));
  for (const v1::Component& component : level.components()) {
    if (component.id() == 0 || component.id() > level.component_count()) {
      return fmt::format("describes component {} of {}", component.id(), level.component_count());
    }
    described.push_back(component.id());
  }
  std::ranges::sort(described);
  const auto twice = std::ranges::adjacent_find(described);
  return twice == described.end() ? std::string() : fmt::format("describes component {} twice", *twice);
}

// A component that is not described has no inputs, and ends no cycle.
std::string check_inputs(const v1::Level& top, const Described& described) {
  const auto place = [&](std::uint32_t id) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(described, id) - described.begin());
  };
  Graph graph(described.size());
  for (const v1::Component& component : top.components()) {
    for (std::uint32_t input : component.inputs()) {
      if (input == 0 || input > top.component_count()) {
        return fmt::format("component {} has input {}, which does not exist", component.id(), input);
      }
      const std::uint32_t to = place(input);
      if (to < described.size() && described[to] == input) graph.add(place(component.id()), to);
    }
  }
  return graph.has_cycle() ? "the inputs of its components form a cycle" : std::string();
}

std::string check_pipelines(const v1::Plan& plan, const std::vector<std::uint32_t>& counts) {
  std::unordered_map<std::uint32_t, std::uint32_t> index;
  for (const v1::Pipeline& pipeline : plan.pipelines()) {
    const auto number = static_cast<std::uint32_t>(index.size());
    if (pipeline.id() == 0 || pipeline.id() > UINT16_MAX || !index.emplace(pipeline.id(), number).second) {
      return fmt::format("pipeline id {} is out of range or used twice", pipeline.id());
    }
    if (pipeline.task_level() >= counts.size()) {
      return fmt::format("pipeline {} has tasks of level {}", pipeline.id(), pipeline.task_level());
    }
    for (std::uint32_t task : pipeline.tasks()) {
      if (task == 0 || task > counts[pipeline.task_level()]) {
        return fmt::format("pipeline {} has task {}, which does not exist", pipeline.id(), task);
      }
    }
  }
  Graph graph(index.size());
  for (const v1::Pipeline& pipeline : plan.pipelines()) {
    for (std::uint32_t before : pipeline.depends_on()) {
      const auto found = index.find(before);
      if (found == index.end()) {
        return fmt::format("pipeline {} depends on {}, which does not exist", pipeline.id(), before);
      }
      graph.add(index[pipeline.id()], found->second);
    }
  }
  return graph.has_cycle() ? "its pipelines depend on each other in a cycle" : std::string();
}

std::string check_head(const v1::Plan& plan, const Limits& limits) {
  if (plan.id() == 0) return "has no id";
  if (plan.slot() >= TAILOR_TAG_PLAN_SLOTS || plan.generation() >= (1u << TAILOR_TAG_GENERATION_BITS)) {
    return fmt::format("slot {} generation {} do not fit into a tag", plan.slot(), plan.generation());
  }
  if (plan.levels_size() == 0 || static_cast<std::uint32_t>(plan.levels_size()) > limits.levels) {
    return fmt::format("{} levels (1 to {} are allowed)", plan.levels_size(), limits.levels);
  }
  const auto levels = static_cast<std::uint32_t>(plan.levels_size());
  if (plan.tag_upper_level() >= levels || (plan.has_tag_lower_level() && plan.tag_lower_level() >= levels)) {
    return fmt::format("tags name levels {} and {} of {}", plan.tag_upper_level(), plan.tag_lower_level(),
                       levels);
  }
  if (static_cast<std::uint32_t>(plan.pipelines_size()) > limits.pipelines) {
    return fmt::format("{} pipelines", plan.pipelines_size());
  }
  for (const v1::Level& level : plan.levels()) {
    if (level.component_count() > limits.components) {
      return fmt::format("{} components on one level", level.component_count());
    }
    const auto described = static_cast<std::uint32_t>(std::max(level.components_size(), level.links_size()));
    if (level.component_count() > std::max(described, limits.undescribed)) {
      return fmt::format("{} components without a description on one level", level.component_count());
    }
  }
  return {};
}

std::string check_levels(const v1::Plan& plan) {
  for (int i = 0; i < plan.levels_size(); ++i) {
    const v1::Level& level = plan.levels(i);
    Described described;
    std::string problem = check_components(level, described);
    if (problem.empty() && i > 0) problem = check_links(level, plan.levels(i - 1).component_count());
    if (problem.empty() && i == 0) problem = check_inputs(level, described);
    if (!problem.empty()) return fmt::format("level {}: {}", i, problem);
  }
  return {};
}

// Of keys and values, and of accesses, by component.
std::size_t hash_attributes(const v1::Plan& plan) {
  std::size_t hash = 0;
  auto add = [&hash](std::size_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15u; };
  for (const v1::Level& level : plan.levels()) {
    for (const v1::Component& component : level.components()) {
      for (const v1::Attribute& attribute : component.attributes()) {
        add(component.id());
        add(std::hash<std::string>()(attribute.key()));
        add(attribute.value_case() == v1::Attribute::kNumber ? std::hash<double>()(attribute.number())
                                                             : std::hash<std::string>()(attribute.text()));
      }
      for (const v1::Access& access : component.accesses()) {
        add(component.id());
        add(std::hash<std::string>()(access.SerializeAsString()));
      }
    }
  }
  return hash;
}

}  // namespace

bool link_exists(std::uint32_t link, std::uint32_t components, std::uint32_t sets) {
  return (link & 1) != 0 ? link >> 1 < sets : link >> 1 <= components;
}

std::string check_link_sets(const google::protobuf::RepeatedPtrField<v1::LinkSet>& sets,
                            std::uint32_t components) {
  for (int i = 0; i < sets.size(); ++i) {
    if (sets.Get(i).ids_size() == 0) return fmt::format("link set {} is empty", i);
    for (std::uint32_t id : sets.Get(i).ids()) {
      if (id == 0 || id > components) return fmt::format("link set {} names component {}", i, id);
    }
  }
  return {};
}

Result<PlanState> check_plan(const v1::Plan& plan, const Limits& limits) {
  std::string problem = check_head(plan, limits);
  if (problem.empty()) problem = check_levels(plan);
  PlanState state;
  for (const v1::Level& level : plan.levels()) state.component_counts.push_back(level.component_count());
  if (problem.empty()) problem = check_pipelines(plan, state.component_counts);
  if (!problem.empty()) return invalid(fmt::format("plan {}: {}", plan.id(), problem));
  state.id = plan.id();
  state.slot = plan.slot();
  state.generation = plan.generation();
  state.tag_upper_level = plan.tag_upper_level();
  state.tag_lower_level = plan.tag_lower_level();
  state.has_tag_lower_level = plan.has_tag_lower_level();
  state.attributes = hash_attributes(plan);
  return state;
}

}  // namespace tailor::process
