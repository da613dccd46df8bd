#include "daemon/query/reports/compare.h"

#include <map>

namespace tailor::query {
namespace {

class Matcher {
 public:
  Matcher(const PlanPart& a, const PlanPart& b) : a_(a), b_(b) {
    of_a_.resize(a.operators.size());
    taken_.resize(b.operators.size());
    match(operator_paths(a.operators), operator_paths(b.operators), Change::kMatched);
    match(operator_identities(a.operators), operator_identities(b.operators), Change::kMoved);
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

}  // namespace

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

bool differs(const Share95& a, const Share95& b) {
  return a.interval.high < b.interval.low || b.interval.high < a.interval.low;
}

Comparison compare(PlanReport a, PlanReport b) {
  Comparison out;
  unite_plans(a);
  unite_plans(b);
  static const PlanPart none;
  const PlanPart& left = a.plans.empty() ? none : a.plans.front();
  const PlanPart& right = b.plans.empty() ? none : b.plans.front();
  out.operators = Matcher(left, right).result();
  out.same_plan = operator_paths(left.operators) == operator_paths(right.operators);
  out.rest = {{"components", "engine components", a.components, b.components},
              {"unattributed", "unattributed", a.unattributed, b.unattributed}};
  // Further plans in a selection are no part of the comparison, but of the whole.
  const Scale of_a = scale_of(a), of_b = scale_of(b);
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
