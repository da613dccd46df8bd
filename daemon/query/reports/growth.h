// How much more one sampled cost is than another, and how sure that is.
#pragma once

#include <optional>

#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

// A sampled cost, divided into `parts` equal parts: executions.
struct SampledCost {
  double weight = 0;             // in the unit of the source, of all parts together
  double effective_samples = 0;  // that the weight stands for
  double parts = 1;
  double of_a_sample = 0;  // the weight of one effective sample; 0: not known

  double of_one() const { return parts > 0 ? weight / parts : 0; }
  // Fewer tell too little to say how much a cost has changed.
  bool few() const { return effective_samples < 5; }
};

// The cost of `amount`, which is a part of everything in `report`.
SampledCost sampled_cost(const PlanReport& report, const Amount& amount, double parts);

// How many times `a` `b` is. The interval is that of the ratio of two Poisson counts by the normal
// approximation of its logarithm (Rothman, Greenland, "Modern Epidemiology", chapter 14): it covers the
// chance of sampling, not how much two runs of the same query differ.
struct Growth {
  double ratio = 1;
  double low = 0, high = 0;  // 95 %
  bool grew() const { return low > 1; }
  bool shrank() const { return high < 1; }
};

// None where one side has fewer than five effective samples: then the interval would mean nothing.
std::optional<Growth> growth(const SampledCost& a, const SampledCost& b);

// The ratio that is surely exceeded, with this confidence (0.95: one-sided); 0 where nothing is sure. Exact:
// of the samples of both sides together, those of `b` are binomial (Przyborowski and Wilenski, "Homogeneity
// of results in testing samples from Poisson series", 1940). So it also holds for few samples, and where
// `a` has none.
double sure_ratio(const SampledCost& a, const SampledCost& b, double confidence);

}  // namespace tailor::query
