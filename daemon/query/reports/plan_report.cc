#include "daemon/query/reports/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "daemon/query/load/attributes.h"
#include "daemon/query/reports/no_such.h"
#include "daemon/query/reports/row_skews.h"
#include "daemon/query/reports/row_spreads.h"
#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/sums/without_sample.h"
#include "daemon/query/time/no_sample.h"
#include "daemon/query/time/pauses.h"
#include "daemon/query/time/rates.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMostPlaces = 100;

using PlanKey = InProcess<PlanId>;

// By key; each has its text.
using Rows = std::map<std::string_view, std::pair<std::string_view, Amount>>;

// Sums per plan while the cells pass by.
struct PlanSums {
  const PlanModel* model = nullptr;
  Amount all;
  Cell own;
  Rows unowned, unattributed;                         // of its own time; beside it
  std::map<std::uint32_t, Amount> engine_components;  // beside its own time
  std::set<ExecutionHandle> executions;
  std::map<ComponentId, Amount> operators;
  std::map<std::uint32_t, std::map<ComponentId, Amount>> tasks;  // by pipeline
  // Of elapsed time.
  std::map<ComponentId, SkewSum> operator_skews;
  std::map<std::uint32_t, SkewSum> pipeline_skews;
};

struct Sums {
  const WorkByCell* work = nullptr;
  Amount all, operators, components, unattributed;
  std::map<PlanKey, PlanSums> plans;
  std::map<InProcess<std::uint32_t>, Amount> component_rows;
  Rows unattributed_rows;
  Cell marks_lost;
};

bool is_shared(const Owners& owners) {
  return owners.size() > 1;
}

void add_tasks(const Cost& cost, std::span<const ThreadWork> work, PlanSums& plan) {
  static const Owners unknown = {{kNoComponent, 1.0}};
  const LevelIndex level = task_level(*cost.plan);
  const Owners& tasks = level < cost.lineage->size() ? (*cost.lineage)[level] : unknown;
  for (const Share& task : tasks) {
    // A task that is part of one pipeline only says which; else the thread's log does.
    const std::uint32_t own = task.id == kNoComponent ? 0 : cost.plan->pipeline_of(level, task.id);
    const std::uint32_t pipeline = own != 0 ? own : cost.key.pipeline;
    plan.tasks[pipeline][task.id].add(cost.cell, cost.key, task.part, is_shared(tasks));
    if (!work.empty()) add_work(work, task.part, plan.pipeline_skews[pipeline]);
  }
}

void add_reason(const Cost& cost, double part, Rows& rows) {
  auto& row = rows[cost.reason.key];
  row.first = cost.reason.text;
  row.second.add(cost.cell, cost.key, part, false);
}

void add_unattributed(const Cost& cost, double part, Sums& sums) {
  sums.unattributed.add(cost.cell, cost.key, part, false);
  add_reason(cost, part, sums.unattributed_rows);
}

void add_cell(const Cell& from, Cell& to) {
  to.samples += from.samples;
  to.weight += from.weight;
  to.weight_squares += from.weight_squares;
}

// The plan for whose execution the thread worked, by its log; NULL: for none, or it has no costs here.
PlanSums* plan_worked_for(const Profile& profile, const CellKey& key, Sums& sums) {
  if (key.execution == 0) return nullptr;
  const auto id = profile.executions().plan_of(key.process, key.execution);
  const PlanModel* model = id ? profile.plan(key.process, *id) : nullptr;
  if (model == nullptr) return nullptr;
  PlanSums& plan = sums.plans[{key.process, *id}];
  plan.model = model;
  return &plan;
}

void add_plan_cost(const Cost& cost, Sums& sums) {
  const Owners& operators = cost.lineage->front();
  PlanSums& plan = sums.plans[{cost.key.process, cost.key.plan}];
  plan.model = cost.plan;
  plan.all.add(cost.cell, cost.key, 1, is_shared(operators));
  add_cell(cost.cell, plan.own);
  if (cost.key.execution != 0) plan.executions.insert(cost.key.execution);
  const std::span<const ThreadWork> work = work_of(sums.work, cost);
  for (const Share& owner : operators) {
    if (owner.id == kNoComponent) {
      add_unattributed(cost, owner.part, sums);
      add_reason(cost, owner.part, plan.unowned);
      continue;
    }
    plan.operators[owner.id].add(cost.cell, cost.key, owner.part, is_shared(operators));
    sums.operators.add(cost.cell, cost.key, owner.part, is_shared(operators));
    if (!work.empty()) add_work(work, owner.part, plan.operator_skews[owner.id]);
  }
  add_tasks(cost, work, plan);
}

void add_component(const Profile& profile, const Cost& cost, Sums& sums) {
  const std::uint32_t component = cost.key.engine_component;
  sums.components.add(cost.cell, cost.key, 1, false);
  sums.component_rows[{cost.key.process, component}].add(cost.cell, cost.key, 1, false);
  if (PlanSums* plan = plan_worked_for(profile, cost.key, sums))
    plan->engine_components[component].add(cost.cell, cost.key, 1, false);
}

void add_nobodys(const Profile& profile, const Cost& cost, Sums& sums) {
  add_unattributed(cost, 1, sums);
  if (cost.key.reason == profile::Reason::kMarksLost) add_cell(cost.cell, sums.marks_lost);
  if (PlanSums* plan = plan_worked_for(profile, cost.key, sums)) add_reason(cost, 1, plan->unattributed);
}

Sums sum_up(const Profile& profile, const Selection& selection, std::uint16_t source,
            const WorkByCell* work) {
  Sums sums;
  sums.work = work;
  for_each_cost(profile, selection, source, [&](const Cost& cost) {
    const bool shared = cost.what == Cost::Class::kPlan && is_shared(cost.lineage->front());
    sums.all.add(cost.cell, cost.key, 1, shared);
    switch (cost.what) {
      case Cost::Class::kPlan:
        return add_plan_cost(cost, sums);
      case Cost::Class::kComponent:
        return add_component(profile, cost, sums);
      case Cost::Class::kUnattributed:
        add_nobodys(profile, cost, sums);
    }
  });
  // Time beside a plan's own is no plan.
  std::erase_if(sums.plans, [](const auto& plan) { return plan.second.own.samples == 0; });
  return sums;
}

ComponentRow component_row(const PlanModel& model, LevelIndex level, ComponentId id, const Share95& cost) {
  ComponentRow row;
  row.id = id;
  row.cost = cost;
  row.name = model.component_name(level, id);
  if (const v1::Component* component = model.component(level, id)) {
    row.kind = component->kind();
    for (const v1::Attribute& attribute : component->attributes()) {
      row.attributes.emplace_back(attribute.key(), attribute_text(attribute));
    }
  }
  if (level == 0) return row;
  for (const Share& owner : model.owners_of(level, id, 0)) {
    if (owner.id != kNoComponent) row.operators.push_back(model.component_name(0, owner.id));
  }
  return row;
}

std::optional<RowSpread> spread_of(const WholeSpread& everything, const RowSpread& row) {
  return everything.all_drawn() ? std::nullopt : std::optional(row);
}

std::vector<OperatorRow> operator_rows(const PlanSums& sums, const Scale& scale,
                                       const WholeSpread& everything, const PlanSpreads& spreads) {
  std::vector<OperatorRow> rows;
  std::set<ComponentId> drawn;
  auto add = [&](const PlanModel::TreeNode& node) {
    const auto it = sums.operators.find(node.id);
    // A number that the engine left out is no operator.
    if (it == sums.operators.end() && sums.model->component(0, node.id) == nullptr) return;
    const Amount amount = it == sums.operators.end() ? Amount{} : it->second;
    const Share95 cost = scale(amount, spread_in(everything, spreads.operators, node.id));
    rows.push_back({component_row(*sums.model, 0, node.id, cost), node.depth, node.last});
    rows.back().cost.skew = skew_in(sums.operator_skews, node.id);
    drawn.insert(node.id);
  };
  for (const PlanModel::TreeNode& node : sums.model->tree()) add(node);
  for (const auto& [id, amount] : sums.operators) {
    if (!drawn.contains(id)) add({id, 0, true});
  }
  return rows;
}

PipelineRow pipeline_row(const PlanSums& sums, std::uint32_t id, const v1::Pipeline* description,
                         const Scale& scale) {
  PipelineRow row;
  row.id = id;
  std::map<ComponentId, Amount> rest;
  if (const auto it = sums.tasks.find(id); it != sums.tasks.end()) rest = it->second;
  Amount all;
  for (const auto& [task, amount] : rest) all.add(amount);
  row.cost = scale(all);
  row.cost.skew = skew_in(sums.pipeline_skews, id);
  const LevelIndex level = task_level(*sums.model);
  if (description != nullptr) {
    row.name = description->name();
    row.depends_on.assign(description->depends_on().begin(), description->depends_on().end());
    for (std::uint32_t task : description->tasks()) {
      auto found = rest.extract(task);
      row.tasks.push_back(component_row(*sums.model, level, task, scale(found ? found.mapped() : Amount{})));
    }
  }
  for (const auto& [task, amount] : rest) {
    row.tasks.push_back(component_row(*sums.model, level, task, scale(amount)));
    if (task == kNoComponent) row.tasks.back().name.clear();
  }
  return row;
}

std::vector<PipelineRow> pipeline_rows(const PlanSums& sums, const Scale& scale) {
  std::vector<PipelineRow> rows;
  std::set<std::uint32_t> described;
  for (const v1::Pipeline& pipeline : sums.model->plan().pipelines()) {
    if (pipeline.id() == 0 || !described.insert(pipeline.id()).second) continue;
    rows.push_back(pipeline_row(sums, pipeline.id(), &pipeline, scale));
  }
  for (const auto& [id, tasks] : sums.tasks) {
    if (!described.contains(id)) rows.push_back(pipeline_row(sums, id, nullptr, scale));
  }
  return rows;
}

// `spreads`: NULL: nothing is known of these rows.
std::vector<NamedRow> named_rows(const Rows& sums, const Scale& scale, const WholeSpread& everything,
                                 const std::map<std::string_view, RowSpread>* spreads) {
  std::vector<NamedRow> rows;
  for (const auto& [key, row] : sums) {
    const auto spread = spreads == nullptr ? std::nullopt : spread_in(everything, *spreads, key);
    rows.push_back(
        {{}, std::string(key), std::string(row.first), scale(row.second, spread), unattributed_key(key)});
  }
  most_expensive_first(rows);
  return rows;
}

PlanPart plan_part(const Profile& profile, const PlanKey& key, const PlanSums& sums, const Scale& whole,
                   const RowSpreads& of_all, const PlanReport& report) {
  static const PlanSpreads no_spreads;
  const auto found = of_all.plans.find(key);
  const PlanSpreads& spreads = found == of_all.plans.end() ? no_spreads : found->second;
  PlanPart part;
  part.process = key.first;
  part.plan = key.second;
  part.name = sums.model->name();
  part.executions = sums.executions.size();
  part.cost = whole(sums.all, spread_of(report.spread, spreads.all));
  part.own = sums.own;
  part.spread = spreads.own;
  part.effective_samples = spreads.average;
  const Scale within = scale_within(report, part);
  part.operators = operator_rows(sums, within, report.spread, spreads);
  part.unowned = named_rows(sums.unowned, within, report.spread, &spreads.unowned);
  part.pipelines = pipeline_rows(sums, within);
  for (const auto& [component, amount] : sums.engine_components) {
    const std::string name = profile.engine_component_name(key.first, component);
    part.engine_rows.push_back({key.first, name, name, whole(amount), component_key(key.first, component)});
  }
  most_expensive_first(part.engine_rows);
  part.unattributed_rows = named_rows(sums.unattributed, whole, report.spread, nullptr);
  return part;
}

void add_rows(const Profile& profile, const Sums& sums, const Scale& scale, const RowSpreads& spreads,
              PlanReport& report) {
  for (const auto& [key, plan] : sums.plans) {
    report.plans.push_back(plan_part(profile, key, plan, scale, spreads, report));
  }
  for (const auto& [key, amount] : sums.component_rows) {
    const std::string name = profile.engine_component_name(key.first, key.second);
    const Share95 cost = scale(amount, spread_in(report.spread, spreads.component_rows, key));
    report.component_rows.push_back({key.first, name, name, cost, component_key(key.first, key.second)});
  }
  most_expensive_first(report.plans);
  most_expensive_first(report.component_rows);
  report.unattributed_rows =
      named_rows(sums.unattributed_rows, scale, report.spread, &spreads.unattributed_rows);
}

void add_without_sample(const Profile& profile, const Selection& selection, PlanReport& report) {
  const auto known = executions_without_sample(profile, selection, report.source.index);
  if (!known) return;
  for (PlanPart& part : report.plans) {
    const auto found = known->find({part.process, part.plan});
    part.executions_without_sample = found == known->end() ? 0 : found->second;
  }
}

Result<std::uint16_t> choose_source(const Profile& profile, const Selection& selection) {
  const auto totals = totals_by_source(profile, selection);
  if (selection.source) {
    if (totals.contains(*selection.source)) return *selection.source;
    return not_found(
        fmt::format("there is no sample of {} in this selection", profile.source(*selection.source).name));
  }
  const auto source = default_source(profile, selection);
  if (source) return *source;
  return no_sample(profile, selection);
}

}  // namespace

std::vector<OperatorRow> described_operators(const PlanModel& plan) {
  std::vector<OperatorRow> rows;
  for (const PlanModel::TreeNode& node : plan.tree()) {
    // A number that the engine left out is no operator.
    if (plan.component(0, node.id) != nullptr)
      rows.push_back({component_row(plan, 0, node.id, {}), node.depth, node.last});
  }
  return rows;
}

Scale scale_of(const PlanReport& report) {
  return Scale(report.total, report.elapsed ? report.elapsed->idle_ns() : 0, report.spread,
               report.effective_samples);
}

Scale scale_of_own(const PlanPart& part) {
  return Scale(part.own, 0, part.spread, part.effective_samples);
}

Scale scale_within(const PlanReport& report, const PlanPart& part) {
  return report.base == Base::kPlan ? scale_of_own(part) : scale_of(report);
}

namespace {

// `elapsed`: null of CPU time.
Result<PlanReport> report_of(const Profile& profile, const Selection& selection, const ElapsedTime* elapsed) {
  const auto source = choose_source(profile, selection);
  if (!source) return source.error();
  const auto totals = totals_by_source(profile, selection);
  PlanReport report;
  report.source = profile.source(*source);
  report.base = selection.base;
  if (selection.executions.size() == 1) report.execution = *selection.executions.begin();
  report.total = totals.at(*source);
  if (elapsed != nullptr) {
    report.elapsed = elapsed->sum;
    report.total.weight = elapsed->sum.elapsed_ns;
  }
  const Sums sums = sum_up(profile, selection, *source, elapsed == nullptr ? nullptr : &elapsed->work);
  const DrawnSum drawn = drawn_sum(profile, selection, *source);
  const double worked = elapsed == nullptr ? report.total.weight : elapsed->sum.worked_ns;
  const RowSpreads spreads = row_spreads(profile, selection, *source, report.total, worked, drawn);
  report.spread = spreads.everything;
  report.effective_samples = spreads.average;
  const Scale scale = scale_of(report);
  report.operators = scale(sums.operators, spread_of(report.spread, spreads.operators));
  report.components = scale(sums.components, spread_of(report.spread, spreads.components));
  report.unattributed = scale(sums.unattributed, spread_of(report.spread, spreads.unattributed));
  report.all = scale(sums.all);
  report.marks_lost = sums.marks_lost;
  report.unregistered = unregistered_code(profile, selection, *source);
  add_rows(profile, sums, scale, spreads, report);
  for (const auto& [index, total] : totals) {
    if (index != *source) report.other_sources.emplace_back(profile.source(index), total);
  }
  // Places have CPU time, and an estimate for what is not drawn would be one of it.
  if (elapsed == nullptr) {
    for (const Place& place : unattributed_places(profile, selection, *source, kMostPlaces))
      report.unattributed_places.emplace_back(place, scale(place.amount));
    report.drawn = drawn;
    add_without_sample(profile, selection, report);  // an elapsed time leaves executions out
  }
  report.evidence = gather_evidence(profile, selection, *source);
  report.pauses = pauses_of(profile, selection);
  report.rates = rates_of(profile, selection);
  report.off_cpu = wait_lane(profile, selection);
  report.accounting = account_of(profile);
  return report;
}

std::optional<LevelIndex> level_named(const PlanModel& model, const std::string& name) {
  for (LevelIndex level = 0; level < model.level_count(); ++level) {
    if (model.level_name(level) == name) return level;
  }
  return std::nullopt;
}

Error no_such_level(const Profile& profile, const PlanReport& summary, const std::string& name) {
  std::set<std::string> names = {"function"};  // of every report, whatever engines declare
  for (const PlanPart& part : summary.plans) {
    const PlanModel* model = profile.plan(part.process, part.plan);
    for (LevelIndex level = 0; level < model->level_count(); ++level) names.insert(model->level_name(level));
  }
  return no_such("level", name, names);
}

// The report of which `made` is the summary.
Result<LevelReport> level_of(const Profile& profile, const Selection& selection, Result<PlanReport> made,
                             const std::string& name, const WorkByCell* work) {
  if (!made) return made.error();
  LevelReport report{name, std::move(*made), {}};
  std::map<PlanKey, std::map<ComponentId, Amount>> sums;
  std::map<PlanKey, std::map<ComponentId, SkewSum>> skews;
  for_each_cost(profile, selection, report.summary.source.index, [&](const Cost& cost) {
    if (cost.what != Cost::Class::kPlan) return;
    const auto level = level_named(*cost.plan, name);
    if (!level) return;
    auto& plan = sums[{cost.key.process, cost.key.plan}];
    if (*level >= cost.lineage->size()) {
      plan[kNoComponent].add(cost.cell, cost.key, 1, false);
      return;
    }
    const Owners& owners = (*cost.lineage)[*level];
    const std::span<const ThreadWork> of_threads = work_of(work, cost);
    for (const Share& owner : owners) {
      plan[owner.id].add(cost.cell, cost.key, owner.part, is_shared(owners));
      if (!of_threads.empty())
        add_work(of_threads, owner.part, skews[{cost.key.process, cost.key.plan}][owner.id]);
    }
  });
  if (sums.empty()) return no_such_level(profile, report.summary, name);
  for (const PlanPart& plan : report.summary.plans) {
    const Scale scale = scale_within(report.summary, plan);
    const auto found = sums.find({plan.process, plan.plan});
    if (found == sums.end()) continue;
    const PlanModel& model = *profile.plan(plan.process, plan.plan);
    const LevelIndex level = *level_named(model, name);
    LevelReport::Part part{plan.process, plan.plan, plan.name, {}, scale(Amount{})};
    for (const auto& [id, amount] : found->second) {
      if (id == kNoComponent) {
        part.unknown = scale(amount);
      } else {
        part.rows.push_back(component_row(model, level, id, scale(amount)));
        part.rows.back().cost.skew = skew_in(skews[found->first], id);
      }
    }
    most_expensive_first(part.rows);
    report.plans.push_back(std::move(part));
  }
  return report;
}

}  // namespace

Result<PlanReport> plan_report(const Profile& profile, const Selection& selection) {
  return report_of(profile, selection, nullptr);
}

Result<PlanReport> plan_report(const ElapsedTime& time) {
  return report_of(time.profile, time.selection, &time);
}

Result<LevelReport> level_report(const Profile& profile, const Selection& selection,
                                 const std::string& name) {
  return level_of(profile, selection, plan_report(profile, selection), name, nullptr);
}

Result<LevelReport> level_report(const ElapsedTime& time, const std::string& name) {
  return level_of(time.profile, time.selection, plan_report(time), name, &time.work);
}

}  // namespace tailor::query
