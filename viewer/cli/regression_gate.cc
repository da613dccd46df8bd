#include "viewer/cli/regression_gate.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "daemon/query/reports/growth.h"

namespace tailor::cli {
namespace {

Error not_a_condition(std::string_view text) {
  return invalid(fmt::format("\"{}\" is no condition; there are total>N%, operator>N% and plan", text));
}

// A cost of both sides.
struct Tested {
  std::string name;
  query::SampledCost a, b;
  bool matters = true;

  bool few() const { return a.few() || b.few(); }
};

std::string grown(const Tested& tested, double limit, double confidence) {
  const double sure = query::sure_ratio(tested.a, tested.b, confidence);
  if (sure <= 1 + limit) return "";
  const std::string by =
      tested.a.of_one() > 0
          ? fmt::format("by {:.1f} %, and ", 100 * (tested.b.of_one() / tested.a.of_one() - 1))
          : "from nothing, ";
  return fmt::format("{} grew {}by more than {:.1f} % with 95 % confidence", tested.name, by,
                     100 * (sure - 1));
}

std::string too_few(const Tested& tested) {
  return fmt::format("{} has too few samples ({:.0f} and {:.0f} effective ones; five are needed)",
                     tested.name, std::floor(tested.a.effective_samples),
                     std::floor(tested.b.effective_samples));
}

void add_to(std::string& list, const std::string& text) {
  if (!text.empty()) list += (list.empty() ? "" : "; ") + text;
}

// All of them together have the error of one test.
Verdict judge_all(const std::vector<Tested>& all, double limit) {
  constexpr double kError = 0.05;
  Verdict out;
  for (const Tested& each : all)
    add_to(out.holds, grown(each, limit, 1 - kError / static_cast<double>(all.size())));
  if (!out.holds.empty()) return out;
  for (const Tested& each : all)
    if (each.matters && each.few()) add_to(out.unknown, too_few(each));
  return out;
}

// With 95 % confidence.
bool surely_small(const query::Share95& share) {
  constexpr double kSmall = 0.01;
  return share.interval.high < kSmall;
}

}  // namespace

Result<Condition> parse_condition(std::string_view text) {
  Condition out;
  out.text = text;
  if (text == "plan") {
    out.of = Condition::Of::kPlan;
    return out;
  }
  const std::size_t sign = text.find('>');
  if (sign == std::string_view::npos || !text.ends_with('%')) return not_a_condition(text);
  const std::string_view of = text.substr(0, sign);
  if (of != "total" && of != "operator") return not_a_condition(text);
  out.of = of == "total" ? Condition::Of::kTotal : Condition::Of::kAnyOperator;
  const std::string_view number = text.substr(sign + 1, text.size() - sign - 2);
  double percent = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (problem != std::errc() || end != number.data() + number.size() || !std::isfinite(percent) ||
      percent < 0)
    return not_a_condition(text);
  out.growth = percent / 100;
  return out;
}

Verdict judge(const Condition& condition, const query::Comparison& both, double a_parts, double b_parts) {
  const bool is_plan = condition.of == Condition::Of::kPlan;
  if (is_plan && !both.plans_known)
    return {"", "the samples are gone, and their sums do not say of which plan"};
  if (!is_plan && !both.runs_known)
    return {"", "runs were added up, and it is not known how many: so what one costs is not known"};
  if (!is_plan && !both.intervals_known)
    return {"", both.details_known ? "the samples are gone, and their sums do not say how much executions "
                                     "differ: a share of these was sampled"
                                   : "the samples are gone, and an older version summed them up"};
  if (is_plan) return {both.same_plan ? "" : "the plans differ", ""};
  const auto tested = [&](const std::string& name, const query::Share95& a, const query::Share95& b) {
    return Tested{name, query::sampled_cost(both.a, a.amount, a_parts),
                  query::sampled_cost(both.b, b.amount, b_parts), !surely_small(a) || !surely_small(b)};
  };
  if (condition.of == Condition::Of::kTotal)
    return judge_all({tested("the total", both.a.all, both.b.all)}, condition.growth);
  std::vector<Tested> operators;
  for (const query::ComparedOperator& row : both.operators)
    if (row.a && row.b) operators.push_back(tested(row.b->row.name, row.a->row.cost, row.b->row.cost));
  if (operators.empty()) return {"", "the two plans have no operator in common"};
  return judge_all(operators, condition.growth);
}

}  // namespace tailor::cli
