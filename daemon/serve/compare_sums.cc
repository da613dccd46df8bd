#include "daemon/serve/compare_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/profile/cell.h"
#include "proto/base/errors.h"

namespace tailor::serve {
namespace {

using SummedEvent = std::pair<std::string, profile::Unit>;
using SummedOperator = std::tuple<ComponentId, std::string, std::string>;  // number, name, kind

// One side, of one event.
struct SummedSide {
  std::map<SummedOperator, store::CostSum> operators;
  store::CostSum of_operators, components, unattributed, all;
  std::set<std::optional<std::uint64_t>> plans;
  std::uint64_t executions = 0;
  bool all_drawn = true;   // of the executions
  bool runs_known = true;  // none of them stands for runs of unknown number
  std::string plan_name;

  // Samples of one execution are alike. Where not all executions are drawn, it counts how these differ, and
  // sums do not say that.
  bool has_intervals() const { return all.detailed() && all_drawn; }
};

std::set<SummedEvent> events_of(const QueryInSums& asked) {
  std::set<SummedEvent> events;
  for (const auto& [key, sum] : asked.sums.costs) {
    if (key.fingerprint == asked.fingerprint) events.emplace(key.source, key.unit);
  }
  return events;
}

Error nothing_of(const QueryInSums& asked) {
  return not_found(fmt::format("the store holds nothing of the query \"{}\" in that time",
                               asked.fingerprint.substr(0, 64)));
}

Result<SummedEvent> common_event(const QueryInSums& a, const QueryInSums& b, const std::string& source) {
  const std::set<SummedEvent> of_a = events_of(a), of_b = events_of(b);
  if (of_a.empty()) return nothing_of(a);
  if (of_b.empty()) return nothing_of(b);
  std::vector<SummedEvent> common;
  std::ranges::set_intersection(of_a, of_b, std::back_inserter(common));
  if (!source.empty()) std::erase_if(common, [&](const SummedEvent& each) { return each.first != source; });
  if (common.empty())
    return not_found(source.empty() ? "the sums of both sides have no event in common"
                                    : fmt::format("the event \"{}\" is not in the sums of both sides",
                                                  source.substr(0, 64)));
  const auto of_unit = [&](profile::Unit unit) {
    return std::ranges::find(common, unit, &SummedEvent::second);
  };
  for (const profile::Unit unit : {profile::Unit::kNsOnCpu, profile::Unit::kEvents}) {
    if (const auto found = of_unit(unit); found != common.end()) return *found;
  }
  return common.front();
}

SummedSide side_of(const QueryInSums& asked, const SummedEvent& event) {
  SummedSide side;
  for (const auto& [key, sum] : asked.sums.costs) {
    if (key.fingerprint != asked.fingerprint || key.source != event.first || key.unit != event.second)
      continue;
    side.all.add(sum);
    // Generated code that no operator owns is of a plan, too.
    if (key.what == store::CostOf::kOperator || key.plan.value_or(0) != 0) side.plans.insert(key.plan);
    switch (key.what) {
      case store::CostOf::kOperator:
        side.operators[{key.id, key.name, key.kind}].add(sum);
        side.of_operators.add(sum);
        break;
      case store::CostOf::kComponent:
        side.components.add(sum);
        break;
      case store::CostOf::kUnattributed:
        side.unattributed.add(sum);
        break;
    }
  }
  for (const auto& [key, run] : asked.sums.runs) {
    if (key.fingerprint != asked.fingerprint) continue;
    profile::add_bounded(side.executions, run.sampled());
    side.all_drawn = side.all_drawn && run.not_drawn == 0;
    side.runs_known = side.runs_known && run.untimed == 0;
  }
  for (const auto& [key, names] : asked.sums.queries) {
    if (key.fingerprint == asked.fingerprint) side.plan_name = names.name;
  }
  return side;
}

// A side without a sample in a plan ran one all the same.
bool knows_plans(const SummedSide& side) {
  return !side.plans.empty() && !side.plans.contains(std::nullopt);
}

query::Amount amount_of(const store::CostSum& sum) {
  query::Amount amount;
  amount.samples = store::to_number(sum.samples);
  amount.weight = store::to_number(sum.weight);
  amount.kernel = store::to_number(sum.kernel);
  amount.inferred = store::to_number(sum.inferred);
  return amount;
}

query::PlanReport sums_report(const SummedSide& side, const SummedEvent& event) {
  query::PlanReport report;
  report.source.name = event.first;
  report.source.unit = event.second;
  report.base = query::Base::kEverything;
  report.total.samples = static_cast<std::uint64_t>(std::llround(store::to_number(side.all.samples)));
  report.total.weight = store::to_number(side.all.weight);
  if (side.has_intervals()) report.total.weight_squares = store::to_number(side.all.squares);
  const query::Scale scale(report.total);
  report.effective_samples = scale.effective_samples();
  report.operators = scale(amount_of(side.of_operators));
  report.components = scale(amount_of(side.components));
  report.unattributed = scale(amount_of(side.unattributed));
  report.all = scale(amount_of(side.all));
  query::PlanPart& plan = report.plans.emplace_back();
  plan.name = side.plan_name;
  plan.executions = side.executions;
  plan.cost = report.operators;
  return report;
}

// An operator of one side or of both.
struct MatchedSums {
  ComponentId id = kNoComponent;
  std::string name, kind;
  std::optional<store::CostSum> a, b;

  store::Wide weight() const { return std::max(a ? a->weight : 0, b ? b->weight : 0); }
};

class SumsMatcher {
 public:
  // `by_number`: both sides have one plan, the same.
  explicit SumsMatcher(bool by_number) : by_number_(by_number) {}

  void add(const SummedSide& side, std::optional<store::CostSum> MatchedSums::* where) {
    for (const auto& [op, sum] : side.operators) {
      const auto& [id, name, kind] = op;
      const SummedOperator key =
          by_number_ ? SummedOperator{id, "", ""} : SummedOperator{kNoComponent, name, kind};
      MatchedSums& row =
          rows_.try_emplace(key, MatchedSums{by_number_ ? id : kNoComponent, name, kind, {}, {}})
              .first->second;
      if (!(row.*where)) (row.*where).emplace();
      (row.*where)->add(sum);
    }
  }

  // The most expensive one first.
  std::vector<MatchedSums> take() {
    std::vector<MatchedSums> rows;
    for (auto& [key, row] : rows_) {
      // Of one plan, an operator without samples is there all the same.
      if (by_number_ && !row.a) row.a.emplace();
      if (by_number_ && !row.b) row.b.emplace();
      rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(
        rows, [](const MatchedSums& l, const MatchedSums& r) { return l.weight() > r.weight(); });
    return rows;
  }

 private:
  bool by_number_;
  std::map<SummedOperator, MatchedSums> rows_;
};

query::ComparedOperator operator_of_both(const MatchedSums& row, const query::Scale& of_a,
                                         const query::Scale& of_b) {
  const auto side = [&](const std::optional<store::CostSum>& sum, const query::Scale& scale) {
    std::optional<query::ComparedSide> out;
    if (!sum) return out;
    out.emplace();
    out->row.id = row.id;
    out->row.name = row.name;
    out->row.kind = row.kind;
    out->row.cost = scale(amount_of(*sum));
    return out;
  };
  query::ComparedOperator out;
  out.change = !row.a ? query::Change::kNew : row.b ? query::Change::kMatched : query::Change::kGone;
  out.a = side(row.a, of_a);
  out.b = side(row.b, of_b);
  return out;
}

}  // namespace

Result<query::Comparison> compare_sums(const QueryInSums& a, const QueryInSums& b,
                                       const std::string& source) {
  const auto event = common_event(a, b, source);
  if (!event) return event.error();
  const SummedSide left = side_of(a, *event), right = side_of(b, *event);
  query::Comparison out;
  out.a = sums_report(left, *event);
  out.b = sums_report(right, *event);
  out.executions_a = left.executions;
  out.executions_b = right.executions;
  out.plans_known = knows_plans(left) && knows_plans(right);
  out.same_plan = out.plans_known && left.plans == right.plans;
  out.details_known = left.all.detailed() && right.all.detailed();
  out.intervals_known = left.has_intervals() && right.has_intervals();
  out.runs_known = left.runs_known && right.runs_known;
  SumsMatcher matcher(out.same_plan && left.plans.size() == 1);
  matcher.add(left, &MatchedSums::a);
  matcher.add(right, &MatchedSums::b);
  const query::Scale of_a(out.a.total), of_b(out.b.total);
  for (const MatchedSums& row : matcher.take()) out.operators.push_back(operator_of_both(row, of_a, of_b));
  out.rest = {{"components", "engine components", out.a.components, out.b.components},
              {"unattributed", "unattributed", out.a.unattributed, out.b.unattributed}};
  return out;
}

}  // namespace tailor::serve
