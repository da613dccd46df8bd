// What one conversion costs: the difference of the rows to rdtsc is the cost beyond rdtsc itself.
#include <benchmark/benchmark.h>
#include <tailor/clock_page.h>
#include <x86intrin.h>

#include "daemon/clock/host_clock.h"
#include "daemon/clock/model.h"
#include "daemon/os/host_time.h"

namespace tailor::clock {
namespace {

// A page as the module writes it; nobody updates it here (the kernel does so 250 times a second).
tailor_clock_page page() {
  tailor_clock_page p{};
  p.flags = TAILOR_CLOCK_VALID;
  p.raw = {
      .cycle_last = __rdtsc(), .base_ns = 1'000'000'000, .remainder = 12345, .mult = 5'785'139, .shift = 24};
  p.mono = p.raw;
  return p;
}

// A timeline as long as a day's.
Timeline timeline(std::size_t pieces) {
  Timeline t;
  const std::uint64_t now = __rdtsc();
  for (std::size_t i = 0; i < pieces; ++i) {
    (void)t.append({.from_tsc = now - (pieces - i) * 1'000'000,
                    .base_ns = static_cast<TimeNs>(i) * 1'000'000,
                    .mult = 5'785'139,
                    .shift = 24});
  }
  return t;
}

void rdtsc(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(__rdtsc());
}
BENCHMARK(rdtsc);

void rdtsc_through_page(benchmark::State& state) {
  tailor_clock_page p = page();
  benchmark::DoNotOptimize(&p);
  __u64 ns = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tailor_clock_tsc_to_ns(&p, TAILOR_CLOCK_RAW, __rdtsc(), &ns));
    benchmark::DoNotOptimize(ns);
  }
}
BENCHMARK(rdtsc_through_page);

// Each conversion waits for the one before, so nothing of it hides behind rdtsc.
void page_alone(benchmark::State& state) {
  tailor_clock_page p = page();
  benchmark::DoNotOptimize(&p);
  __u64 tsc = p.raw.cycle_last, ns = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tailor_clock_tsc_to_ns(&p, TAILOR_CLOCK_RAW, tsc, &ns));
    tsc += ns & 1;
    benchmark::DoNotOptimize(tsc);
  }
}
BENCHMARK(page_alone);

void rdtsc_through_timeline(benchmark::State& state) {
  const Timeline t = timeline(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(t.to_ns(__rdtsc()));
}
BENCHMARK(rdtsc_through_timeline)->Arg(1)->Arg(Timeline::kKept);

void clock_gettime_raw(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(os::read_raw_ns());
}
BENCHMARK(clock_gettime_raw);

void pair_of_clocks(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_pair(os::real(), 16));
}
BENCHMARK(pair_of_clocks);

}  // namespace
}  // namespace tailor::clock
