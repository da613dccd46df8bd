#include "daemon/query/reports/same_plans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/query/load/attributes.h"

namespace tailor::query {
namespace {

// What an operator is, whatever its number: its name, kind and attributes without figures.
std::string identity(const OperatorRow& row) {
  std::string text = row.kind + '\0' + row.name;
  for (const auto& [key, value] : row.attributes) {
    if (is_figure(key)) continue;
    text.append(1, '\0').append(key).append("=").append(value);
  }
  return text;
}

// Positions of the plans that are one tree.
struct PlanGroup {
  std::vector<Sha256Digest> tree;
  std::vector<std::size_t> plans;
  double weight = 0;
};

// The most expensive one first.
std::vector<PlanGroup> plan_groups(const PlanReport& report) {
  std::map<std::vector<Sha256Digest>, PlanGroup> by_tree;
  for (std::size_t i = 0; i < report.plans.size(); ++i) {
    PlanGroup& group = by_tree[operator_paths(report.plans[i].operators)];
    group.plans.push_back(i);
    group.weight += report.plans[i].cost.amount.weight;
  }
  std::vector<PlanGroup> groups;
  for (auto& [tree, group] : by_tree) {
    group.tree = tree;
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, std::greater(), &PlanGroup::weight);
  return groups;
}

// Of other executions, as each of them ran one plan.
void add_amount(const Share95& cost, Share95& to) {
  to.amount.add(cost.amount);
  if (cost.spread) {
    if (!to.spread) to.spread = RowSpread{};
    to.spread->add(*cost.spread);
  }
  if (!cost.skew) return;
  if (to.skew) {
    to.skew->add(*cost.skew);
  } else {
    to.skew = cost.skew;
  }
}

void rescale(Share95& cost, const Scale& scale) {
  const std::optional<Skew> skew = cost.skew;
  cost = scale(cost.amount, cost.spread);
  cost.skew = skew;
}

// Rows of several plans, those with one key as one.
class RowUnion {
 public:
  void add(const std::vector<NamedRow>& rows) {
    for (const NamedRow& row : rows) {
      const auto [at, fresh] = rows_.try_emplace(row.key, row);
      if (!fresh) add_amount(row.cost, at->second.cost);
    }
  }
  std::vector<NamedRow> finish(const Scale& scale) const {
    std::vector<NamedRow> out;
    for (const auto& [key, row] : rows_) {
      out.push_back(row);
      out.back().cost = scale(row.cost.amount, row.cost.spread);
    }
    most_expensive_first(out);
    return out;
  }
  std::vector<RowSpread> spreads() const {
    std::vector<RowSpread> out;
    for (const auto& [key, row] : rows_) out.push_back(row.cost.spread.value_or(RowSpread{}));
    return out;
  }

 private:
  std::map<std::string, NamedRow> rows_;
};

// Pipelines of several plans; they and their tasks stay in the order of the first plan that has them.
class PipelineUnion {
 public:
  void add(const std::vector<PipelineRow>& rows) {
    for (const PipelineRow& row : rows) {
      const auto [at, fresh] = places_.try_emplace({row.id, row.name}, pipelines_.size());
      if (fresh) {
        pipelines_.push_back({row, {}});
        pipelines_.back().row.tasks.clear();
      } else {
        add_amount(row.cost, pipelines_[at->second].row.cost);
      }
      pipelines_[at->second].add(row.tasks);
    }
  }
  std::vector<PipelineRow> finish(const Scale& scale) {
    std::vector<PipelineRow> out;
    for (Pipeline& each : pipelines_) {
      rescale(each.row.cost, scale);
      for (ComponentRow& task : each.row.tasks) rescale(task.cost, scale);
      out.push_back(std::move(each.row));
    }
    return out;
  }

 private:
  using Key = std::pair<std::uint32_t, std::string>;  // number and name
  struct Pipeline {
    PipelineRow row;
    std::map<Key, std::size_t> places;  // of its tasks
    void add(const std::vector<ComponentRow>& tasks) {
      for (const ComponentRow& task : tasks) {
        const auto [at, fresh] = places.try_emplace({task.id, task.name}, row.tasks.size());
        if (fresh) {
          row.tasks.push_back(task);
        } else {
          add_amount(task.cost, row.tasks[at->second].cost);
        }
      }
    }
  };
  std::vector<Pipeline> pipelines_;
  std::map<Key, std::size_t> places_;
};

// Plans that are one tree as one plan, which has the number of the first.
class PlanUnion {
 public:
  explicit PlanUnion(const PlanPart& first) : sum_(first) { add_rows(first); }

  void add(const PlanPart& part) {
    is_several_ = true;
    add_costs(part);
    add_rows(part);
  }

  PlanPart finish(const PlanReport& report) {
    if (is_several_) find_effective_samples(report);
    const Scale within = scale_within(report, sum_), whole = scale_of(report);
    sum_.cost = whole(sum_.cost.amount, sum_.cost.spread);
    for (OperatorRow& row : sum_.operators) rescale(row.cost, within);
    sum_.unowned = unowned_.finish(within);
    sum_.pipelines = pipelines_.finish(within);
    sum_.engine_rows = engine_.finish(whole);
    sum_.unattributed_rows = unattributed_.finish(whole);
    return std::move(sum_);
  }

 private:
  void add_costs(const PlanPart& part) {
    sum_.executions += part.executions;
    sum_.executions_without_sample.reset();  // plans of the same tree that have no sample at all are not here
    add_amount(part.cost, sum_.cost);
    sum_.own.samples += part.own.samples;
    sum_.own.weight += part.own.weight;
    sum_.own.weight_squares += part.own.weight_squares;
    sum_.spread.add(part.spread);
    for (std::size_t i = 0; i < sum_.operators.size(); ++i) {
      add_amount(part.operators[i].cost, sum_.operators[i].cost);
      keep_common_figures(part.operators[i], sum_.operators[i]);
    }
  }

  void add_rows(const PlanPart& part) {
    unowned_.add(part.unowned);
    engine_.add(part.engine_rows);
    unattributed_.add(part.unattributed_rows);
    pipelines_.add(part.pipelines);
  }

  // Executions that are not drawn may have a plan of their own each, of the same tree: of all of them the
  // share is that of the report.
  void find_effective_samples(const PlanReport& report) {
    sum_.spread.drawn = report.spread.drawn;
    std::vector<RowSpread> rows = unowned_.spreads();
    for (const OperatorRow& row : sum_.operators) rows.push_back(row.cost.spread.value_or(RowSpread{}));
    const double weight = sum_.own.weight, squares = sum_.own.weight_squares;
    sum_.effective_samples =
        effective_samples(sum_.spread, weight, squares > 0 ? weight * weight / squares : 0, rows);
  }

  // What one plan estimated or counted is not said of all.
  static void keep_common_figures(const OperatorRow& row, OperatorRow& to) {
    std::erase_if(to.attributes, [&](const auto& attribute) {
      return is_figure(attribute.first) &&
             std::ranges::find(row.attributes, attribute) == row.attributes.end();
    });
  }

  PlanPart sum_;
  bool is_several_ = false;
  RowUnion unowned_, engine_, unattributed_;
  PipelineUnion pipelines_;
};

}  // namespace

std::vector<Sha256Digest> operator_paths(const std::vector<OperatorRow>& operators) {
  std::vector<Sha256Digest> way, all;
  for (const OperatorRow& row : operators) {
    way.resize(std::min<std::size_t>(row.depth, way.size()));
    std::string text = identity(row);
    if (!way.empty()) text.insert(0, reinterpret_cast<const char*>(way.back().data()), way.back().size());
    way.push_back(sha256(text));
    all.push_back(way.back());
  }
  return all;
}

std::vector<Sha256Digest> operator_identities(const std::vector<OperatorRow>& operators) {
  std::vector<Sha256Digest> all;
  for (const OperatorRow& row : operators) all.push_back(sha256(identity(row)));
  return all;
}

MainPlans::MainPlans(const Profile& profile, const PlanReport& report) : profile_(profile) {
  for (const PlanPart& part : report.plans) known_[{part.process, part.plan}] = false;
  const std::vector<PlanGroup> groups = plan_groups(report);
  if (groups.empty()) return;
  tree_ = groups.front().tree;
  for (const std::size_t at : groups.front().plans)
    known_[{report.plans[at].process, report.plans[at].plan}] = true;
}

bool MainPlans::contains(const InProcess<PlanId>& plan) {
  const auto [at, fresh] = known_.try_emplace(plan, false);
  if (!fresh || !tree_) return at->second;
  const PlanModel* model = profile_.plan(plan.first, plan.second);
  at->second = model != nullptr && operator_paths(described_operators(*model)) == *tree_;
  return at->second;
}

void unite_plans(PlanReport& report) {
  std::vector<PlanPart> united;
  for (const PlanGroup& group : plan_groups(report)) {
    PlanUnion sum(report.plans[group.plans.front()]);
    for (std::size_t i = 1; i < group.plans.size(); ++i) sum.add(report.plans[group.plans[i]]);
    united.push_back(sum.finish(report));
  }
  report.plans = std::move(united);
}

}  // namespace tailor::query
