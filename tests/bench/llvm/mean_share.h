// What a benchmark says of the shares it measured in pairs.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

namespace tailor::bench {

// Counters "share" and "upper95", percent: the mean and the upper 95 % bound over at least 20 shares.
inline void count_shares(benchmark::State& state, const std::vector<double>& shares) {
  const double n = static_cast<double>(shares.size());
  double mean = 0, square = 0;
  for (double share : shares) mean += share / n;
  for (double share : shares) square += (share - mean) * (share - mean);
  state.counters["share"] = 100 * mean;
  state.counters["upper95"] = 100 * (mean + 2.1 * std::sqrt(square / (n - 1) / n));
}

}  // namespace tailor::bench
