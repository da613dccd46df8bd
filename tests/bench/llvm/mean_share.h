// What a benchmark says of the shares it measured in pairs.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

namespace tailor::bench {

// Counters NAME and NAME_upper95: the mean of at least 20 values and the upper 95 % bound of the mean.
inline void count_mean(benchmark::State& state, const std::string& name, const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (double value : values) mean += value / n;
  for (double value : values) square += (value - mean) * (value - mean);
  state.counters[name] = mean;
  state.counters[name + "_upper95"] = mean + 2.1 * std::sqrt(square / (n - 1) / n);
}

// Counters "share" and "share_upper95", per cent.
inline void count_shares(benchmark::State& state, std::vector<double> shares) {
  for (double& share : shares) share *= 100;
  count_mean(state, "share", shares);
}

}  // namespace tailor::bench
