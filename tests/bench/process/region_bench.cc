// Regions of memory found and changed, with a million of them live.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "daemon/process/region_timeline.h"

namespace tailor::process {
namespace {

constexpr std::uint64_t kLive = 1'000'000, kStride = 8192, kBytes = 4096;

RegionTimeline million() {
  RegionTimeline regions({});
  for (std::uint64_t i = 0; i < kLive; ++i)
    regions.add(static_cast<std::uint32_t>(i % 100 + 1), i * kStride, kBytes, 0);
  regions.advance(0);
  return regions;
}

void find(benchmark::State& bench) {
  RegionTimeline regions = million();
  std::mt19937_64 random(1);
  for (auto _ : bench) benchmark::DoNotOptimize(regions.find(random() % (kLive * kStride), 1));
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(find);

// A region goes and another comes, while the others stay; twice as many changes as iterations.
void change(benchmark::State& bench) {
  RegionTimeline regions = million();
  std::mt19937_64 random(1);
  TimeNs time = 1;
  for (auto _ : bench) {
    const std::uint64_t base = random() % kLive * kStride;
    regions.remove(base, ++time);
    regions.add(7, base, kBytes, ++time);
    // As far behind as the watermark is at 100,000 changes a second.
    regions.advance(time - 20'000);
  }
  bench.SetItemsProcessed(2 * bench.iterations());
}
BENCHMARK(change);

}  // namespace
}  // namespace tailor::process
