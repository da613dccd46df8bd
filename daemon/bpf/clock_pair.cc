#include "daemon/bpf/clock_pair.h"

#include <time.h>

#include <cmath>

namespace tailor::bpf {
namespace {

constexpr int kReadings = 5;
constexpr TimeNs kSurely = 1'000'000;  // pairs closer than this give no rate

TimeNs read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return TimeNs{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

ClockPair read_clock_pair() {
  ClockPair best;
  TimeNs narrowest = kTimeMax;
  for (int i = 0; i < kReadings; ++i) {
    const TimeNs before = read(CLOCK_MONOTONIC_RAW);
    const TimeNs monotonic = read(CLOCK_MONOTONIC);
    const TimeNs after = read(CLOCK_MONOTONIC_RAW);
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {monotonic, before + (after - before) / 2};
  }
  return best;
}

TimeNs to_raw(const ClockPair& first, const ClockPair& second, TimeNs monotonic) {
  const TimeNs elapsed = second.monotonic - first.monotonic;
  if (elapsed < kSurely) return second.raw + (monotonic - second.monotonic);
  // Only the small difference between the clocks is scaled: nothing is lost to rounding.
  const auto drift = static_cast<double>((second.raw - first.raw) - elapsed);
  const auto share = static_cast<double>(monotonic - first.monotonic) / static_cast<double>(elapsed);
  return first.raw + (monotonic - first.monotonic) + std::llround(drift * share);
}

}  // namespace tailor::bpf
