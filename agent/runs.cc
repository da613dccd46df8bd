// Runs that an engine adds up before it says that their execution ended (tailor_runs_add).
#include <tailor/agent.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace {

using FirstTimes = std::array<std::uint64_t, TAILOR_ELAPSED_BUCKETS>;

// The shortest time of each bucket, in whole ns. The daemon has the same buckets
// (daemon/store/elapsed_buckets.h).
constexpr FirstTimes first_times() {
  constexpr long double kStep = 1.1;         // as a double: the daemon's
  constexpr long double kTooLong = 0x1p64L;  // such buckets hold no time
  FirstTimes first{};
  long double time = 1;
  for (std::uint64_t& each : first) {
    each = time < kTooLong ? static_cast<std::uint64_t>(time) : UINT64_MAX;
    if (time < kTooLong && static_cast<long double>(each) < time) ++each;
    time *= kStep;
  }
  return first;
}

// 0 ns is in the first bucket.
std::size_t elapsed_bucket(std::uint64_t elapsed_ns) {
  static constexpr FirstTimes kFirst = first_times();
  const std::uint64_t time = std::clamp<std::uint64_t>(elapsed_ns, 1, UINT64_MAX - 1);
  return static_cast<std::size_t>(std::upper_bound(kFirst.begin(), kFirst.end(), time) - kFirst.begin()) - 1;
}

// UINT64_MAX, if the sum is larger: of rows that stands for a number that is not known.
std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace

void tailor_runs_add(struct tailor_runs* runs, uint64_t elapsed_ns, uint64_t rows, int failed) {
  if (!runs || runs->size < sizeof(*runs)) return;
  runs->shortest_ns = runs->runs == 0 ? elapsed_ns : std::min(runs->shortest_ns, elapsed_ns);
  runs->longest_ns = std::max(runs->longest_ns, elapsed_ns);
  runs->elapsed_ns = bounded_sum(runs->elapsed_ns, elapsed_ns);
  runs->rows = bounded_sum(runs->rows, rows);
  ++runs->runs;
  if (failed != 0) ++runs->failed;
  ++runs->buckets[elapsed_bucket(elapsed_ns)];
}
