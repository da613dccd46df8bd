#include "daemon/query/reports/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "daemon/query/sums/flame_functions.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/time/no_sample.h"

namespace tailor::query {
namespace {

// Lines and functions below this part of the whole are added up in one node.
constexpr double kLeast = 0.0001;

using Step = FlameStep;

// A node while samples are added: children by key.
struct Growing {
  Step step;
  double samples = 0, weight = 0;
  std::map<std::string, Growing> children;
};

// Where a part of a cost belongs; kNoComponent where that is not known.
struct WorkPlace {
  std::uint32_t pipeline = 0;
  ComponentId op = kNoComponent, task = kNoComponent, line = kNoComponent;
};

class Tree {
 public:
  Tree(const Profile& profile, const std::vector<FlameLevel>& order)
      : profile_(profile), order_(order), with_functions_(has_functions(order)) {
    root_.step = {"", "all", "all", 0};
  }

  // `code`, of all samples of the cost, comes where the order has its levels.
  void add(const Cost& cost, const FlameCode& code) {
    code_ = &code;
    add(cost);
  }

  void add(const Cost& cost) {
    if (cost.what == Cost::Class::kPlan) return add_plan_cost(cost);
    if (cost.what == Cost::Class::kComponent) {
      const std::uint32_t id = cost.key.engine_component;
      return add_with_functions({component_key(cost.key.process, id), "component",
                                 profile_.engine_component_name(cost.key.process, id), id},
                                cost, 1);
    }
    add_with_functions(unattributed(cost), cost, 1);
  }

  FlameNode finish() const { return freeze(root_); }

 private:
  static Step unattributed_step(const NoOwner& reason) {
    return {unattributed_key(reason.key), "unattributed", std::string(reason.text), 0};
  }
  static Step unattributed(const Cost& cost) { return unattributed_step(cost.reason); }

  // Of what is outside of plans.
  void add_with_functions(Step step, const Cost& cost, double part) {
    std::vector<Step> path = {std::move(step)};
    for (const FlameLevel level : order_) add_code(level, path);
    add(path, cost, part);
  }

  void add(const std::vector<Step>& path, const Cost& cost, double part) {
    Growing* node = &root_;
    auto count = [&](Growing& at) {
      at.samples += static_cast<double>(cost.cell.samples) * part;
      at.weight += cost.cell.weight * part;
    };
    count(*node);
    for (const Step& step : path) {
      auto child = node->children.find(step.key);
      if (child == node->children.end()) {
        // Beyond the limit it is known up to here only.
        if (nodes_ >= kMostNodes) return;
        ++nodes_;
        child = node->children.try_emplace(step.key).first;
        child->second.step = step;
      }
      node = &child->second;
      count(*node);
    }
  }

  // Down the lineage from the lowest level that is known, so that what is split stays together on its way up.
  void add_plan_cost(const Cost& cost) {
    const PlanModel& plan = *cost.plan;
    const auto lowest = static_cast<LevelIndex>(cost.lineage->size() - 1);
    const LevelIndex tasks = task_level(plan);
    for (const Share& link : cost.lineage->back()) {
      if (steps_ > kMostSteps) {
        add_with_functions(unattributed_step(kLineageTooLarge), cost, link.part);
        continue;
      }
      WorkPlace place;
      if (lowest + 1 == plan.level_count() && lowest > tasks) place.line = link.id;
      if (tasks == 0 || lowest < tasks) {
        add_operators(cost, place, lowest, link.id, link.part);
        continue;
      }
      const Owners owners = lowest == tasks ? Owners{{link.id, 1.0}} : plan.owners_of(lowest, link.id, tasks);
      for (const Share& task : owners) {
        if (++steps_ > kMostSteps) {
          add_with_functions(unattributed_step(kLineageTooLarge), cost, link.part * task.part);
          continue;
        }
        place.task = task.id;
        add_operators(cost, place, tasks, task.id, link.part * task.part);
      }
    }
  }

  void add_operators(const Cost& cost, WorkPlace place, LevelIndex level, ComponentId id, double part) {
    const PlanModel& plan = *cost.plan;
    const std::uint32_t own = id == kNoComponent ? 0 : plan.pipeline_of(level, id);
    place.pipeline = own != 0 ? own : cost.key.pipeline;
    const Owners owners = level == 0 ? Owners{{id, 1.0}} : plan.owners_of(level, id, 0);
    steps_ += owners.size();
    for (const Share& owner : owners) {
      if (owner.id == kNoComponent) {
        add_with_functions(unattributed(cost), cost, part * owner.part);
        continue;
      }
      place.op = owner.id;
      add(path_of(cost, place), cost, part * owner.part);
    }
  }

  std::vector<Step> path_of(const Cost& cost, const WorkPlace& place) const {
    std::vector<Step> path;
    for (FlameLevel level : order_) {
      add_code(level, path);
      Step step = step_of(cost, place, level);
      if (!step.key.empty()) path.push_back(std::move(step));
    }
    return path;
  }

  void add_code(FlameLevel level, std::vector<Step>& path) const {
    if (!with_functions_) return;
    if (level == FlameLevel::kFunction)
      path.insert(path.end(), code_->functions.begin(), code_->functions.end());
    if (level == FlameLevel::kAddress && !code_->address.key.empty()) path.push_back(code_->address);
  }

  // An empty key where it is not known, and of code.
  static Step step_of(const Cost& cost, const WorkPlace& place, FlameLevel level) {
    const PlanModel& plan = *cost.plan;
    const ProcessId process = cost.key.process;
    const PlanId id = cost.key.plan;
    const std::string kind(flame_key(level));
    switch (level) {
      case FlameLevel::kPlan:
        return {"plan:" + plan_key(process, id), kind, plan.name(), static_cast<std::uint32_t>(id)};
      case FlameLevel::kPipeline:
        return {pipeline_key(process, id, place.pipeline), kind, pipeline_name(plan, place.pipeline),
                place.pipeline};
      case FlameLevel::kOperator:
        return {operator_key(process, id, place.op), kind, plan.component_name(0, place.op), place.op};
      case FlameLevel::kTask:
        if (place.task == kNoComponent) return {};
        return {task_key(process, id, place.task), kind, plan.component_name(task_level(plan), place.task),
                place.task};
      case FlameLevel::kLine:
        if (place.line == kNoComponent) return {};
        return {fmt::format("line:{}:{}", plan_key(process, id), place.line), kind,
                plan.component_name(plan.level_count() - 1, place.line), place.line};
      case FlameLevel::kFunction:
      case FlameLevel::kAddress:
        break;
    }
    return {};
  }

  static std::string pipeline_name(const PlanModel& plan, std::uint32_t id) {
    if (id == 0) return "outside of pipelines";
    for (const v1::Pipeline& pipeline : plan.plan().pipelines()) {
      if (pipeline.id() == id && !pipeline.name().empty()) return pipeline.name();
    }
    return fmt::format("pipeline {}", id);
  }

  FlameNode freeze(const Growing& from) const {
    FlameNode node{
        from.step.key, from.step.kind, from.step.name, from.step.id, from.samples, from.weight, {}};
    FlameNode rest{"", "rest", "", 0, 0, 0, {}};
    for (const auto& [key, child] : from.children) {
      const bool many =
          child.step.kind == "line" || child.step.kind == "function" || child.step.kind == "address";
      if (many && child.children.empty() && child.weight < root_.weight * kLeast) {
        rest.name = child.step.kind + (child.step.kind == "address" ? "es" : "s") + " below 0.01 %";
        rest.samples += child.samples;
        rest.weight += child.weight;
        continue;
      }
      node.children.push_back(freeze(child));
    }
    std::stable_sort(node.children.begin(), node.children.end(),
                     [](const FlameNode& a, const FlameNode& b) { return a.weight > b.weight; });
    if (rest.samples > 0) node.children.push_back(std::move(rest));
    return node;
  }

  const Profile& profile_;
  const std::vector<FlameLevel>& order_;
  const bool with_functions_;
  const FlameCode* code_ = nullptr;
  Growing root_;
  // What a hostile plan may cost: nodes in memory, and steps from lines to tasks to operators.
  static constexpr std::size_t kMostNodes = std::size_t{1} << 19, kMostSteps = std::size_t{1} << 20;
  std::size_t nodes_ = 0, steps_ = 0;
};

constexpr std::array kLevels = {FlameLevel::kPlan,   FlameLevel::kPipeline, FlameLevel::kOperator,
                                FlameLevel::kTask,   FlameLevel::kLine,     FlameLevel::kFunction,
                                FlameLevel::kAddress};

Result<FlameReport> finish(FlameReport report, const Tree& tree) {
  report.root = tree.finish();
  if (report.root.samples == 0)
    return not_found(fmt::format("there is no sample of {} in this selection", report.source.name));
  return report;
}

}  // namespace

std::string_view flame_key(FlameLevel level) {
  constexpr std::array<std::string_view, 7> kKeys = {"plan", "pipeline", "operator", "task",
                                                     "line", "function", "address"};
  return kKeys[static_cast<std::size_t>(level)];
}

std::vector<FlameLevel> default_flame_order() {
  return {kLevels.begin(), std::ranges::find(kLevels, FlameLevel::kFunction)};
}

bool has_functions(const std::vector<FlameLevel>& order) {
  return std::ranges::any_of(order, [](FlameLevel level) {
    return level == FlameLevel::kFunction || level == FlameLevel::kAddress;
  });
}

Result<std::vector<FlameLevel>> parse_flame_order(std::string_view text) {
  std::vector<FlameLevel> order;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view key = text.substr(0, comma);
    const auto level =
        std::find_if(kLevels.begin(), kLevels.end(), [&](FlameLevel each) { return flame_key(each) == key; });
    if (level == kLevels.end())
      return invalid(fmt::format(
          "\"{}\" is no level; there are plan, pipeline, operator, task, line, function and address", key));
    if (std::find(order.begin(), order.end(), *level) != order.end())
      return invalid(fmt::format("the level {} is named twice", key));
    order.push_back(*level);
    if (comma == std::string_view::npos) return order;
    text.remove_prefix(comma + 1);
  }
}

Result<FlameReport> flame_report(const Profile& profile, const Selection& selection,
                                 std::vector<FlameLevel> order) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return no_sample(profile, selection);
  FlameReport report;
  report.source = profile.source(*source);
  report.order = std::move(order);
  Tree tree(profile, report.order);
  for_each_cost(profile, selection, *source, [&](const Cost& cost) { tree.add(cost); });
  return finish(std::move(report), tree);
}

Result<FlameReport> flame_report(const ElapsedTime& time, std::vector<FlameLevel> order) {
  auto report = flame_report(time.profile, time.selection, std::move(order));
  if (!report) return report;
  report->elapsed = true;
  FlameNode idle;
  idle.kind = "idle";
  idle.name = "no thread worked";
  idle.weight = time.sum.idle_ns();
  if (!(idle.weight > 0)) return report;
  report->root.weight += idle.weight;
  std::vector<FlameNode>& nodes = report->root.children;
  const auto place =
      std::ranges::find_if(nodes, [&](const FlameNode& each) { return each.weight < idle.weight; });
  nodes.insert(place, std::move(idle));
  return report;
}

Result<FlameReport> flame_report_with_functions(const Profile& profile, const Selection& selection,
                                                std::vector<FlameLevel> order,
                                                const std::function<bool(const TimedSample&)>& keep) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return no_sample(profile, selection);
  FlameReport report;
  report.source = profile.source(*source);
  report.order = std::move(order);
  FlameFunctions functions(profile, keep);
  Tree tree(profile, report.order);
  for_each_cost(profile, selection, *source, [&](const Cost& cost) {
    functions.for_each(cost.own_key, [&](const Cell& cell, const FlameCode& code) {
      tree.add(Cost{cost.key, cell, cost.own_key, cost.what, cost.plan, cost.lineage, cost.reason}, code);
    });
  });
  return finish(std::move(report), tree);
}

}  // namespace tailor::query
