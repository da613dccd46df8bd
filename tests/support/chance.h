// How far a share of samples can be off by chance alone. See chance.py, which says why these bounds: a check
// that uses them raises a false alarm less than once in a million times, whatever the number of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tailor::test {

constexpr double kFalseAlarm = 1e-6;

// The relative entropy of two shares, in nats.
inline double entropy(double q, double p) {
  if (p <= 0 || p >= 1) return q == p ? 0 : std::numeric_limits<double>::infinity();
  return (q > 0 ? q * std::log(q / p) : 0) + (q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0);
}

// The furthest share, on one side, that `samples` of `share` have by chance (Chernoff's bound).
inline double edge(double samples, double share, bool above, double alarm = kFalseAlarm) {
  double near = share, far = above ? 1 : 0;
  const double most = std::log(1 / alarm) / std::max(samples, 1e-9);
  if (entropy(far, share) <= most) return far;
  for (int i = 0; i < 60; ++i) {
    const double middle = (near + far) / 2;
    (entropy(middle, share) <= most ? near : far) = middle;
  }
  return far;
}

// By how much a share of `samples` can be off by chance, to either side. How many samples a run gets depends
// on the host and on who else is busy there: no test asks a number of it.
inline double by_chance(double share, double samples) {
  return std::max(edge(samples, share, true, kFalseAlarm / 2) - share,
                  share - edge(samples, share, false, kFalseAlarm / 2));
}

// By which part of itself a number of about `samples` can be off by chance, if each comes by itself
// (Bernstein's bound for Poisson).
inline double of_count(double samples) {
  const double most = std::log(2 / kFalseAlarm);
  samples = std::max(samples, 1.0);
  return std::sqrt(2 * most / samples) + most / (3 * samples);
}

}  // namespace tailor::test
