#include "daemon/query/reports/row_spreads.h"

#include <span>
#include <utility>
#include <vector>

namespace tailor::query {
namespace {

// What a row has of one execution, and of all before it.
struct SpreadRow {
  double now = 0;
  RowSpread of_plan, of_everything;

  // The execution has this much of the plan's own time, and of everything.
  void end(double plan, double everything) {
    of_plan.squares += now * now;
    of_plan.products += now * plan;
    of_everything.squares += now * now;
    of_everything.products += now * everything;
    now = 0;
  }
};

struct SpreadPlan {
  double now = 0;  // of its own time
  WholeSpread own;
  SpreadRow all;
  std::map<ComponentId, SpreadRow> operators;
  std::map<std::string_view, SpreadRow> unowned;
};

void end_whole(double& now, WholeSpread& whole) {
  if (now > 0) {
    ++whole.sampled;
    whole.weight += now;
    whole.squares += now * now;
  }
  now = 0;
}

// The rows that the execution at hand has a part in, each once. Others it leaves as they are, so that many
// executions of many plans cost no more than their cells.
class SpreadSums {
 public:
  void add(const Cost& cost) {
    const double weight = cost.cell.weight;
    everything_now_ += weight;
    switch (cost.what) {
      case Cost::Class::kPlan:
        return add_plan(cost, weight);
      case Cost::Class::kComponent:
        put(components_, weight);
        return put(component_rows_[{cost.key.process, cost.key.engine_component}], weight);
      case Cost::Class::kUnattributed:
        put(unattributed_, weight);
        put(unattributed_rows_[cost.reason.key], weight);
    }
  }

  void next() {
    for (const auto& [row, plan] : touched_) {
      if (row->now != 0) row->end(plan == nullptr ? 0 : plan->now, everything_now_);
    }
    for (SpreadPlan* plan : touched_plans_) end_whole(plan->now, plan->own);
    end_whole(everything_now_, everything_);
    touched_.clear();
    touched_plans_.clear();
  }

  RowSpreads finish(Base base) const {
    RowSpreads out;
    out.everything = everything_;
    for (const auto& [key, plan] : plans_) {
      PlanSpreads& to = out.plans[key];
      to.own = plan.own;
      to.all = plan.all.of_everything;
      for (const auto& [id, row] : plan.operators) to.operators[id] = shown(row, base);
      for (const auto& [reason, row] : plan.unowned) to.unowned[reason] = shown(row, base);
    }
    out.operators = operators_.of_everything;
    out.components = components_.of_everything;
    out.unattributed = unattributed_.of_everything;
    for (const auto& [key, row] : component_rows_) out.component_rows[key] = row.of_everything;
    for (const auto& [reason, row] : unattributed_rows_) out.unattributed_rows[reason] = row.of_everything;
    return out;
  }

  // All rows of everything, and of a plan, after add_weight() of all costs.
  std::vector<RowSpread> rows() const {
    std::vector<RowSpread> out;
    for (const auto& [key, plan] : plans_) {
      for (const auto& [id, row] : plan.operators) out.push_back(row.of_everything);
    }
    for (const auto& [key, row] : component_rows_) out.push_back(row.of_everything);
    for (const auto& [reason, row] : unattributed_rows_) out.push_back(row.of_everything);
    return out;
  }
  std::vector<RowSpread> rows_of(const InProcess<PlanId>& key) const {
    std::vector<RowSpread> out;
    const auto found = plans_.find(key);
    if (found == plans_.end()) return out;
    for (const auto& [id, row] : found->second.operators) out.push_back(row.of_plan);
    for (const auto& [reason, row] : found->second.unowned) out.push_back(row.of_plan);
    return out;
  }

  // Rows have weight outside of executions, too.
  void add_weight(const Cost& cost) {
    const double weight = cost.cell.weight;
    const auto give = [&](SpreadRow& row, double part) {
      row.of_plan.weight += weight * part;
      row.of_everything.weight += weight * part;
    };
    switch (cost.what) {
      case Cost::Class::kPlan: {
        SpreadPlan& plan = plans_[{cost.key.process, cost.key.plan}];
        give(plan.all, 1);
        for (const Share& owner : cost.lineage->front()) {
          const bool owned = owner.id != kNoComponent;
          give(owned ? plan.operators[owner.id] : plan.unowned[cost.reason.key], owner.part);
          give(owned ? operators_ : unattributed_, owner.part);
          if (!owned) give(unattributed_rows_[cost.reason.key], owner.part);
        }
        return;
      }
      case Cost::Class::kComponent:
        give(components_, 1);
        return give(component_rows_[{cost.key.process, cost.key.engine_component}], 1);
      case Cost::Class::kUnattributed:
        give(unattributed_, 1);
        give(unattributed_rows_[cost.reason.key], 1);
    }
  }

 private:
  static RowSpread shown(const SpreadRow& row, Base base) {
    return base == Base::kPlan ? row.of_plan : row.of_everything;
  }

  void put(SpreadRow& row, double weight, const SpreadPlan* plan = nullptr) {
    if (row.now == 0) touched_.emplace_back(&row, plan);
    row.now += weight;
  }

  void add_plan(const Cost& cost, double weight) {
    SpreadPlan& plan = plans_[{cost.key.process, cost.key.plan}];
    if (plan.now == 0) touched_plans_.push_back(&plan);
    plan.now += weight;
    put(plan.all, weight, &plan);
    for (const Share& owner : cost.lineage->front()) {
      const double part = weight * owner.part;
      if (owner.id != kNoComponent) {
        put(plan.operators[owner.id], part, &plan);
        put(operators_, part);
        continue;
      }
      put(plan.unowned[cost.reason.key], part, &plan);
      put(unattributed_, part);
      put(unattributed_rows_[cost.reason.key], part);
    }
  }

  double everything_now_ = 0;
  WholeSpread everything_;
  std::map<InProcess<PlanId>, SpreadPlan> plans_;
  SpreadRow operators_, components_, unattributed_;
  std::map<InProcess<std::uint32_t>, SpreadRow> component_rows_;
  std::map<std::string_view, SpreadRow> unattributed_rows_;
  std::vector<std::pair<SpreadRow*, const SpreadPlan*>> touched_;
  std::vector<SpreadPlan*> touched_plans_;
};

// The share of the plan's executions that is drawn; that of all where none is known.
using DrawnOfPlans = std::map<InProcess<PlanId>, std::pair<double, double>>;  // executions, drawn ones

DrawnOfPlans drawn_of_plans(const Profile& profile, const Selection& selection) {
  DrawnOfPlans out;
  for (const profile::ExecutionRecord& execution : profile.executions()) {
    const InProcess<ExecutionHandle> own(execution.process, execution.handle);
    if (!selected(selection, own.first, own.second) || profile.led_by(own.first, own.second) != own) continue;
    auto& [all, drawn] = out[{execution.process, execution.plan}];
    ++all;
    if (execution.drawn) ++drawn;
  }
  return out;
}

double independent_samples(const Cell& cell, double weight) {
  return cell.weight_squares > 0 ? weight * weight / cell.weight_squares : 0;
}

}  // namespace

RowSpreads row_spreads(const Profile& profile, const Selection& selection, std::uint16_t source,
                       const Cell& total, double worked, const DrawnSum& drawn) {
  if (drawn.drawn == drawn.executions) {
    RowSpreads all;
    all.average = independent_samples(total, worked);
    return all;
  }
  SpreadSums sums;
  std::map<InProcess<PlanId>, Cell> own;
  for_each_cost_by_execution(
      profile, selection, source, [&](const Cost& cost) { sums.add(cost); }, [&] { sums.next(); });
  for_each_cost(profile, selection, source, [&](const Cost& cost) {
    sums.add_weight(cost);
    if (cost.what != Cost::Class::kPlan) return;
    Cell& cell = own[{cost.key.process, cost.key.plan}];
    cell.weight += cost.cell.weight;
    cell.weight_squares += cost.cell.weight_squares;
  });
  RowSpreads out = sums.finish(selection.base);
  out.everything.drawn = static_cast<double>(drawn.drawn) / static_cast<double>(drawn.executions);
  out.average = effective_samples(out.everything, worked, independent_samples(total, worked), sums.rows());
  const DrawnOfPlans of_plans = drawn_of_plans(profile, selection);
  for (auto& [key, plan] : out.plans) {
    const auto known = of_plans.find(key);
    const bool all_known = known != of_plans.end() && known->second.second >= plan.own.sampled;
    plan.own.drawn = all_known ? known->second.second / known->second.first : out.everything.drawn;
    const Cell& cell = own[key];
    const double independent = independent_samples(cell, cell.weight);
    plan.average = effective_samples(plan.own, cell.weight, independent, sums.rows_of(key));
  }
  return out;
}

double sample_worth(const Profile& profile, const Selection& selection, std::uint16_t source) {
  const DrawnSum drawn = drawn_sum(profile, selection, source);
  if (drawn.drawn == drawn.executions) return 1;
  const auto totals = totals_by_source(profile, selection);
  const auto total = totals.find(source);
  if (total == totals.end()) return 1;
  const double independent = independent_samples(total->second, total->second.weight);
  if (!(independent > 0)) return 1;
  return row_spreads(profile, selection, source, total->second, total->second.weight, drawn).average /
         independent;
}

}  // namespace tailor::query
