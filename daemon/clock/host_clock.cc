#include "daemon/clock/host_clock.h"

#include <time.h>
#include <x86intrin.h>

#include <fstream>

namespace tailor::clock {
namespace {

constexpr int kTries = 16;

}  // namespace

std::uint64_t read_tsc() {
  _mm_lfence();
  const std::uint64_t tsc = __rdtsc();
  _mm_lfence();
  return tsc;
}

TimeNs read_raw_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<TimeNs>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

Pair read_pair(int tries) {
  Pair best;
  for (int i = 0; i < tries; ++i) {
    Pair pair;
    pair.before = read_tsc();
    pair.raw_ns = read_raw_ns();
    pair.after = read_tsc();
    if (i == 0 || pair.after - pair.before < best.after - best.before) best = pair;
  }
  return best;
}

HostClock::HostClock(std::string sys)
    : clocksource_path_(sys + "/devices/system/clocksource/clocksource0/current_clocksource") {}

bool HostClock::tsc_is_clocksource() const {
  std::ifstream file(clocksource_path_);
  std::string word;
  return file >> word && (word == "tsc" || word == "tsc-early");
}

Observation HostClock::observe() {
  return {.pair = read_pair(kTries), .tsc_is_clocksource = tsc_is_clocksource(), .perf = {}, .module = {}};
}

}  // namespace tailor::clock
