#include "daemon/query/sums/skew.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tailor::query {
namespace {

// How far a share of `seen` is from a true share of `share`, per sample, as Chernoff's bound has it: the
// chance to see that or more in n samples is at most exp(-n times this). 0 < share <= seen < 1.
double distance(double seen, double share) {
  return seen * std::log(seen / share) + (1 - seen) * std::log((1 - seen) / (1 - share));
}

// The share that the busiest of `threads` surely has, where it had the share `seen` of the samples. Any of
// them could have been the busiest by chance, so they share the error of 5 %. Chernoff's bound holds for few
// samples too, and is quickly found.
double least_share_of_busiest(double seen, double samples, std::size_t threads) {
  constexpr double kError = 0.05;
  const double most = std::log(static_cast<double>(threads) / kError) / samples;
  double low = 0, high = seen;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (distance(seen, middle) > most ? low : high) = middle;
  }
  return low;
}

// Of the threads of one execution.
struct ThreadSums {
  std::size_t threads = 0;
  double all = 0, busiest = 0, squares = 0;
};

}  // namespace

void SkewSum::add(std::uint32_t execution, std::uint64_t thread, double cpu_ns, double squares) {
  if (!(cpu_ns > 0)) return;
  Work& work = work_[{execution, thread}];
  work.cpu_ns += cpu_ns;
  work.squares += squares;
}

std::optional<Skew> SkewSum::skew() const {
  Skew out;
  for (auto it = work_.begin(); it != work_.end();) {
    const std::uint32_t execution = it->first.first;
    ThreadSums sums;
    for (; it != work_.end() && it->first.first == execution; ++it) {
      ++sums.threads;
      sums.all += it->second.cpu_ns;
      sums.squares += it->second.squares;
      sums.busiest = std::max(sums.busiest, it->second.cpu_ns);
    }
    const double share = sums.busiest / sums.all;
    if (sums.threads < 2 || !(share < 1) || !(sums.squares > 0)) continue;
    const double samples = sums.all * sums.all / sums.squares;
    out.add({sums.busiest, sums.all / static_cast<double>(sums.threads),
             sums.all * least_share_of_busiest(share, samples, sums.threads)});
  }
  if (!(out.mean > 0)) return std::nullopt;
  return out;
}

}  // namespace tailor::query
