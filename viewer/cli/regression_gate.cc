#include "viewer/cli/regression_gate.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "daemon/query/growth.h"

namespace tailor::cli {
namespace {

Error not_a_condition(std::string_view text) {
  return invalid(fmt::format("\"{}\" is no condition; there are total>N%, operator>N% and plan", text));
}

std::string grown(const std::string& what, const query::SampledCost& a, const query::SampledCost& b,
                  double limit) {
  const auto found = query::growth(a, b);
  if (!found || found->at_least <= 1 + limit) return "";
  return fmt::format("{} grew by {:.1f} %, and by more than {:.1f} % with 95 % confidence", what,
                     100 * (found->ratio - 1), 100 * (found->at_least - 1));
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

std::string why_it_holds(const Condition& condition, const query::Comparison& both, double a_parts,
                         double b_parts) {
  if (condition.of == Condition::Of::kPlan) return both.same_plan ? "" : "the plans differ";
  auto side_a = [&](const query::Amount& amount) { return query::sampled_cost(both.a, amount, a_parts); };
  auto side_b = [&](const query::Amount& amount) { return query::sampled_cost(both.b, amount, b_parts); };
  if (condition.of == Condition::Of::kTotal)
    return grown("the total", side_a(both.a.all.amount), side_b(both.b.all.amount), condition.growth);
  std::string out;
  for (const query::ComparedOperator& row : both.operators) {
    if (!row.a || !row.b) continue;
    const std::string why = grown(row.b->row.name, side_a(row.a->row.cost.amount),
                                  side_b(row.b->row.cost.amount), condition.growth);
    if (!why.empty()) out += (out.empty() ? "" : "; ") + why;
  }
  return out;
}

}  // namespace tailor::cli
