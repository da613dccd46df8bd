#include "daemon/query/sums/execution_spread.h"

#include <algorithm>

#include "daemon/query/sums/interval.h"

namespace tailor::query {
namespace {

constexpr double kLargeDegrees = 1e9;
constexpr double kFewSamples = 30;
constexpr double kOneRow = 1e-9;  // of the sum of binomial variances: less is the rounding of a share of 1

// Of shares of the whole: that between executions, that of samples, and that of one independent sample.
struct ShareVariance {
  double between = 0, noise = 0, binomial = 0;
};

// What of the noise is not in the variance between executions: that of what is outside of them, and the share
// that is drawn.
double noise_left(const WholeSpread& whole, double total) {
  const double outside = std::clamp(1 - whole.weight / total, 0.0, 1.0);
  return whole.drawn + (1 - whole.drawn) * outside;
}

ShareVariance variance_of(const WholeSpread& whole, double total, double independent, const RowSpread& row) {
  const double share = std::clamp(row.weight / total, 0.0, 1.0);
  ShareVariance out;
  out.binomial = share * (1 - share);
  out.noise = out.binomial / independent * noise_left(whole, total);
  // Of each execution: what it has in the row, less its part of the whole times the share.
  const double squares = row.squares - 2 * share * row.products + share * share * whole.squares;
  const double executions = whole.sampled / (whole.sampled - 1);
  out.between = (1 - whole.drawn) * executions * std::max(0.0, squares) / (total * total);
  return out;
}

// As many executions of equal cost are as exact (Kish).
double equal_executions(const WholeSpread& whole) {
  return whole.squares > 0 ? whole.weight * whole.weight / whole.squares : 0;
}

double samples_of(const WholeSpread& whole, double independent, const ShareVariance& of) {
  const double variance = of.between + of.noise;
  if (!(variance > 0)) return independent;
  // Satterthwaite's: only the variance between executions is found from few values.
  const double degrees = of.between > 0 ? variance * variance * std::max(0.0, equal_executions(whole) - 1) /
                                              (of.between * of.between)
                                        : kLargeDegrees;
  const double worse = student95(kLargeDegrees) / student95(degrees);
  return std::min(independent, of.binomial / variance * worse * worse);
}

// Where executions do not differ, because the whole has one row: the fewest that can be meant.
double samples_of_executions(const WholeSpread& whole, double total, double independent) {
  const double variance =
      (1 - whole.drawn) / equal_executions(whole) + noise_left(whole, total) / independent;
  return std::min(independent, 1 / variance);
}

bool counts_samples_alone(const WholeSpread& whole, double total, double independent) {
  return whole.all_drawn() || !(whole.sampled > 0) || !(total > 0) || !(independent > 0);
}

}  // namespace

void WholeSpread::add(const WholeSpread& other) {
  sampled += other.sampled;
  weight += other.weight;
  squares += other.squares;
}

void RowSpread::add(const RowSpread& other) {
  weight += other.weight;
  squares += other.squares;
  products += other.products;
}

double effective_samples(const WholeSpread& whole, double total, double independent, const RowSpread& row,
                         double average) {
  if (counts_samples_alone(whole, total, independent)) return independent;
  if (whole.sampled < 2) return 0;
  const ShareVariance variance = variance_of(whole, total, independent, row);
  const double share = std::clamp(row.weight / total, 0.0, 1.0);
  const double own = samples_of(whole, independent, variance);
  return std::min(share, 1 - share) * independent >= kFewSamples ? own : std::min(average, own);
}

double effective_samples(const WholeSpread& whole, double total, double independent,
                         std::span<const RowSpread> rows) {
  if (counts_samples_alone(whole, total, independent)) return independent;
  if (whole.sampled < 2) return 0;
  ShareVariance all;
  for (const RowSpread& row : rows) {
    const ShareVariance of = variance_of(whole, total, independent, row);
    all.between += of.between;
    all.noise += of.noise;
    all.binomial += of.binomial;
  }
  if (!(all.binomial > kOneRow)) return samples_of_executions(whole, total, independent);
  return samples_of(whole, independent, all);
}

}  // namespace tailor::query
