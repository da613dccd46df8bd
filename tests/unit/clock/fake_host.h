// A host whose TSC, clock and faults the test decides; it gives the observations a real one would give.
#pragma once

#include <cstdint>
#include <random>

#include "daemon/clock/kernel_rate.h"
#include "daemon/clock/observation.h"

namespace tailor::clock {

class FakeHost {
 public:
  explicit FakeHost(std::uint64_t khz = 2'899'998, std::uint64_t seed = 1)
      : rate_(clocksource_rate(khz)), khz_(khz), random_(seed) {}

  // What CLOCK_MONOTONIC_RAW really is at `tsc`.
  TimeNs truth(std::uint64_t tsc) const {
    const auto ticks = static_cast<__int128>(tsc) - origin_tsc_;
    return origin_ns_ + static_cast<TimeNs>((ticks * static_cast<__int128>(rate_.mult)) >> rate_.shift);
  }

  std::uint64_t now() const { return now_; }
  void advance_ns(std::uint64_t ns) { now_ += ns * khz_ / 1'000'000; }

  // The clock stays, the TSC goes to `tsc`.
  void set_tsc(std::uint64_t tsc) {
    origin_ns_ = truth(now_);
    origin_tsc_ = now_ = tsc;
  }
  // The clock jumps by `ns` against the TSC.
  void step_clock(TimeNs ns) { origin_ns_ += ns; }
  // From now on the TSC runs at `khz`.
  void set_khz(std::uint64_t khz) {
    origin_ns_ = truth(now_);
    origin_tsc_ = now_;
    khz_ = khz;
    rate_ = clocksource_rate(khz);
  }

  // A pair of reads of which the clock's is anywhere between the two; time passes with it.
  Pair pair() {
    Pair p;
    p.before = now_;
    const std::uint64_t width = 80 + random_() % 200;
    p.raw_ns = truth(now_ + random_() % width);
    p.after = now_ += width;
    ++now_;
    return p;
  }

  Observation observe() { return {.pair = pair(), .tsc_is_clocksource = true, .perf = {}, .module = {}}; }

  // perf's own mult and shift for this frequency, as the kernel makes them (32 bits, shift up to 31).
  PerfPageTime perf_page() const {
    const std::uint32_t shift = 31;
    const std::uint64_t mult = ((std::uint64_t{1'000'000} << shift) + khz_ / 2) / khz_;
    return {
        .mult = static_cast<std::uint32_t>(mult), .shift = static_cast<std::uint16_t>(shift), .zero = 12345};
  }

  // What the module's page says when the timekeeper was last updated at `cycle`.
  ModuleTime module_at(std::uint64_t cycle) const {
    ModuleTime m;
    m.cycle_last = cycle;
    m.mult = static_cast<std::uint32_t>(rate_.mult);
    m.shift = rate_.shift;
    m.base_ns = truth(cycle);
    return m;
  }

 private:
  Rate rate_;
  std::uint64_t khz_;
  std::uint64_t origin_tsc_ = 1'000'000;
  TimeNs origin_ns_ = 5'000'000'000;
  std::uint64_t now_ = 1'000'000'000;
  std::mt19937_64 random_;
};

}  // namespace tailor::clock
