// How exactly shares are known where only a part of the executions is sampled (profile/draw.h): by how much
// executions differ, and not by the number of samples alone. Samples of one execution are alike.
#pragma once

#include <span>

namespace tailor::query {

// Of a whole that shares are parts of. Sums of wholes that have no execution in common can be added.
struct WholeSpread {
  double drawn = 1;    // the share of its executions that is sampled; 1: all, and nothing else here counts
  double sampled = 0;  // executions that have samples in it
  double weight = 0;   // of the samples of these
  double squares = 0;  // of the weight of each of these

  bool all_drawn() const { return drawn >= 1; }
  void add(const WholeSpread& other);  // but for `drawn`
};

// Of a row of the whole. They can be added as the wholes can.
struct RowSpread {
  double weight = 0;    // with that outside of executions
  double squares = 0;   // of what each execution has in it
  double products = 0;  // of that, and of what the execution has of the whole
  void add(const RowSpread& other);
};

// `total`: the weight that samples of the whole stand for. `independent`: as many samples these are worth
// where all executions are drawn. Both, as the next, are what interval.h calls samples; 0: nothing is known.
//
// The share is a ratio of two totals of executions that are drawn at random (Cochran, "Sampling Techniques",
// chapter 6). To the variance between executions comes that of the samples, but for the part of it that the
// first has in it. The number is that of independent samples which would be as exact, as Korn and Graubard
// count them ("Confidence intervals for proportions with small expected number of positive counts", 1998):
// few executions, or executions of very different cost, count as fewer by Student's t distribution. A row of
// few samples is known no better than the rows on average: by chance executions do not seem to differ in it.
// `average`: effective_samples() of all rows.
double effective_samples(const WholeSpread& whole, double total, double independent, const RowSpread& row,
                         double average);
// On average over rows that are all of the whole.
double effective_samples(const WholeSpread& whole, double total, double independent,
                         std::span<const RowSpread> rows);

}  // namespace tailor::query
