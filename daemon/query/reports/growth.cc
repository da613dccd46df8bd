#include "daemon/query/reports/growth.h"

#include <cmath>

#include "daemon/query/sums/binomial.h"

namespace tailor::query {

SampledCost sampled_cost(const PlanReport& report, const Amount& amount, double parts) {
  const double whole = static_cast<double>(report.total.weight);
  const double part = whole > 0 ? amount.weight / whole : 0;
  const double of_a_sample = report.effective_samples > 0 ? whole / report.effective_samples : 0;
  return {amount.weight, report.effective_samples * part, parts, of_a_sample};
}

std::optional<Growth> growth(const SampledCost& a, const SampledCost& b) {
  if (a.few() || b.few()) return std::nullopt;
  if (a.of_one() <= 0 || b.of_one() <= 0) return std::nullopt;
  const double error = std::sqrt(1 / a.effective_samples + 1 / b.effective_samples);
  Growth out;
  out.ratio = b.of_one() / a.of_one();
  out.low = out.ratio * std::exp(-1.959964 * error);
  out.high = out.ratio * std::exp(1.959964 * error);
  return out;
}

double sure_ratio(const SampledCost& a, const SampledCost& b, double confidence) {
  if (!(a.of_a_sample > 0) || !(b.of_a_sample > 0) || !(a.parts > 0) || !(b.parts > 0)) return 0;
  const double share = least_share(b.effective_samples, a.effective_samples, confidence);
  const double samples = share / (1 - share);
  return samples * (b.of_a_sample / b.parts) / (a.of_a_sample / a.parts);
}

}  // namespace tailor::query
