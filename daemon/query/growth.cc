#include "daemon/query/growth.h"

#include <cmath>

namespace tailor::query {

SampledCost sampled_cost(const PlanReport& report, const Amount& amount, double parts) {
  const double whole = static_cast<double>(report.total.weight);
  const double part = whole > 0 ? amount.weight / whole : 0;
  return {amount.weight, report.effective_samples * part, parts};
}

std::optional<Growth> growth(const SampledCost& a, const SampledCost& b) {
  constexpr double kLeast = 5;
  if (a.effective_samples < kLeast || b.effective_samples < kLeast) return std::nullopt;
  if (a.of_one() <= 0 || b.of_one() <= 0) return std::nullopt;
  const double error = std::sqrt(1 / a.effective_samples + 1 / b.effective_samples);
  Growth out;
  out.ratio = b.of_one() / a.of_one();
  out.low = out.ratio * std::exp(-1.959964 * error);
  out.high = out.ratio * std::exp(1.959964 * error);
  out.at_least = out.ratio * std::exp(-1.644854 * error);
  return out;
}

}  // namespace tailor::query
