#include "daemon/query/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tailor::query {
namespace {

// Estimates and counts differ from one execution to the next.
bool is_figure(std::string_view key) {
  return key == "cost" || key == "loops" || key == "wrappers" || key.starts_with("estimated") ||
         key.starts_with("actual_") || key.starts_with("pages_");
}

// What an operator is, whatever its number: its name, kind and attributes without figures.
std::string identity(const OperatorRow& row) {
  std::string text = row.kind + '\0' + row.name;
  for (const auto& [key, value] : row.attributes) {
    if (is_figure(key)) continue;
    text.append(1, '\0').append(key).append("=").append(value);
  }
  return text;
}

class Matcher {
 public:
  Matcher(const PlanPart& a, const PlanPart& b) : a_(a), b_(b) {
    of_a_.resize(a.operators.size());
    taken_.resize(b.operators.size());
    match(operator_paths(a.operators), operator_paths(b.operators), Change::kMatched);
    match(identities(a), identities(b), Change::kMoved);
  }

  std::vector<ComparedOperator> result() const {
    std::vector<ComparedOperator> all;
    for (std::size_t i = 0; i < a_.operators.size(); ++i) {
      ComparedOperator row{Change::kGone, side(a_, i), std::nullopt};
      if (of_a_[i]) {
        row.change = of_a_[i]->second;
        row.b = side(b_, of_a_[i]->first);
      }
      all.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < b_.operators.size(); ++i) {
      if (!taken_[i]) all.push_back({Change::kNew, std::nullopt, side(b_, i)});
    }
    return all;
  }

 private:
  static std::vector<Sha256Digest> identities(const PlanPart& plan) {
    std::vector<Sha256Digest> all;
    for (const OperatorRow& row : plan.operators) all.push_back(sha256(identity(row)));
    return all;
  }

  static ComparedSide side(const PlanPart& plan, std::size_t i) {
    return {plan.process, plan.plan, plan.operators[i]};
  }

  void match(const std::vector<Sha256Digest>& left, const std::vector<Sha256Digest>& right, Change change) {
    std::multimap<Sha256Digest, std::size_t> free;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!taken_[i]) free.emplace(right[i], i);
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (of_a_[i]) continue;
      const auto found = free.find(left[i]);
      if (found == free.end()) continue;
      of_a_[i] = {found->second, change};
      taken_[found->second] = true;
      free.erase(found);
    }
  }

  const PlanPart& a_;
  const PlanPart& b_;
  std::vector<std::optional<std::pair<std::size_t, Change>>> of_a_;
  std::vector<bool> taken_;
};

// Positions of main_plans().
std::vector<std::size_t> main_group(const PlanReport& report) {
  std::map<std::vector<Sha256Digest>, std::vector<std::size_t>> groups;
  std::map<std::vector<Sha256Digest>, double> weights;
  for (std::size_t i = 0; i < report.plans.size(); ++i) {
    const auto tree = operator_paths(report.plans[i].operators);
    groups[tree].push_back(i);
    weights[tree] += report.plans[i].cost.amount.weight;
  }
  const auto most = std::ranges::max_element(weights, {}, [](const auto& each) { return each.second; });
  return most == weights.end() ? std::vector<std::size_t>() : groups.at(most->first);
}

// Makes one plan of the main plans, the first: its costs, and those of its operators, are their sums.
void unite_main_plans(PlanReport& report) {
  const std::vector<std::size_t> group = main_group(report);
  if (group.empty()) return;
  PlanPart sum = report.plans[group.front()];
  std::vector<Amount> amounts(sum.operators.size());
  Amount all;
  sum.own = {};
  sum.executions = 0;
  for (const std::size_t at : group) {
    const PlanPart& part = report.plans[at];
    for (std::size_t i = 0; i < amounts.size(); ++i) amounts[i].add(part.operators[i].cost.amount);
    all.add(part.cost.amount);
    sum.own.samples += part.own.samples;
    sum.own.weight += part.own.weight;
    sum.own.weight_squares += part.own.weight_squares;
    sum.executions += part.executions;
  }
  const Scale scale = scale_within(report, sum);
  for (std::size_t i = 0; i < amounts.size(); ++i) sum.operators[i].cost = scale(amounts[i]);
  sum.cost = Scale(report.total)(all);
  for (auto at = group.rbegin(); at != group.rend(); ++at)
    report.plans.erase(report.plans.begin() + static_cast<std::ptrdiff_t>(*at));
  report.plans.insert(report.plans.begin(), std::move(sum));
}

}  // namespace

std::set<InProcess<PlanId>> main_plans(const PlanReport& report) {
  std::set<InProcess<PlanId>> out;
  for (const std::size_t at : main_group(report))
    out.insert({report.plans[at].process, report.plans[at].plan});
  return out;
}

std::string_view name_of(Change change) {
  switch (change) {
    case Change::kMatched:
      return "matched";
    case Change::kMoved:
      return "moved";
    case Change::kNew:
      return "new";
    case Change::kGone:
      return "gone";
  }
  return "matched";
}

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

bool differs(const Share95& a, const Share95& b) {
  return a.interval.high < b.interval.low || b.interval.high < a.interval.low;
}

Comparison compare(PlanReport a, PlanReport b) {
  Comparison out;
  unite_main_plans(a);
  unite_main_plans(b);
  static const PlanPart none;
  const PlanPart& left = a.plans.empty() ? none : a.plans.front();
  const PlanPart& right = b.plans.empty() ? none : b.plans.front();
  out.operators = Matcher(left, right).result();
  out.same_plan = operator_paths(left.operators) == operator_paths(right.operators);
  out.rest = {{"components", "engine components", a.components, b.components},
              {"unattributed", "unattributed", a.unattributed, b.unattributed}};
  // Further plans in a selection are no part of the comparison, but of the whole.
  const Scale of_a(a.total), of_b(b.total);
  auto other = [](const PlanReport& report) {
    Amount sum;
    for (std::size_t i = 1; i < report.plans.size(); ++i) {
      for (const OperatorRow& row : report.plans[i].operators) sum.add(row.cost.amount);
    }
    return sum;
  };
  const Amount more_a = other(a), more_b = other(b);
  if (more_a.weight > 0 || more_b.weight > 0)
    out.rest.push_back({"other_plans", "other plans of the selection", of_a(more_a), of_b(more_b)});
  out.executions_a = left.executions;
  out.executions_b = right.executions;
  out.a = std::move(a);
  out.b = std::move(b);
  return out;
}

}  // namespace tailor::query
