// Patterns of all kinds with numbers that nobody would say: the model stays finite, bounded and quick.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "proto/traffic/estimate.h"
#include "proto/traffic/lower_bound.h"
#include "proto/traffic/shape.h"
#include "tests/unit/traffic/played.h"

namespace tailor::traffic {
namespace {

// Often small, sometimes as large as can be.
std::uint64_t some_number(Draws& draws, std::uint64_t most) {
  const std::uint64_t bits = 1 + draws.below(52);
  return std::min(most, draws.below(std::uint64_t{1} << bits));
}

Pattern some_pattern(Draws& draws) {
  Pattern out;
  out.kind = static_cast<PatternKind>(draws.below(5));
  out.region.id = static_cast<std::uint32_t>(draws.below(4));
  out.region.item_bytes = 1 + static_cast<std::uint32_t>(some_number(draws, kMostItemBytes - 1));
  out.region.items = some_number(draws, kMostRegionBytes / out.region.item_bytes);
  if (draws.happens(0.3)) {
    out.region.parts = 5;
    out.region.part = 1 + static_cast<std::uint32_t>(draws.below(5));
  }
  out.used_bytes = static_cast<std::uint32_t>(draws.below(out.region.item_bytes + 1));
  const bool repeats = out.kind == PatternKind::kSequential || out.kind == PatternKind::kRandomTraversal;
  if (repeats) out.times = 1 + some_number(draws, kMostTimes - 1);
  out.turns = draws.happens(0.5);
  out.share = draws.happens(0.2) ? 1e-300 : static_cast<double>(draws.below(1001)) / 1000;
  if (out.region.items > 0) out.accesses = some_number(draws, kMostRegionBytes);
  out.cursors = 1 + static_cast<std::uint32_t>(some_number(draws, UINT32_MAX - 1));
  out.at_random = draws.happens(0.5);
  out.writes = draws.happens(0.5);
  out.reads = !out.writes || draws.happens(0.5);
  out.allocates = draws.happens(0.8);
  out.discards = draws.happens(0.1);
  return out;
}

TEST(HostilePatterns, GiveFiniteNumbers) {
  Draws draws(49);
  for (int round = 0; round < 100; ++round) {
    std::vector<Phase> phases(1 + draws.below(4));
    for (Phase& phase : phases) {
      for (std::uint64_t i = draws.below(5); i > 0; --i) phase.patterns.push_back(some_pattern(draws));
      if (draws.happens(0.2)) phase.discarded.push_back(static_cast<std::uint32_t>(draws.below(4)));
    }
    const Cache cache{.lines = std::max<std::uint64_t>(8, some_number(draws, kMostLines)),
                      .fills_on_write = draws.happens(0.5)};
    ASSERT_TRUE(check(cache, phases).ok()) << round;
    const Result<Estimate> predicted = estimate(cache, phases, Ending::kWrittenBack);
    const Result<LowerBound> least = lower_bound(cache, phases, Ending::kWrittenBack);
    ASSERT_TRUE(predicted.ok() && least.ok()) << round;
    const auto is_fine = [](double value) { return std::isfinite(value) && value >= 0; };
    for (std::size_t i = 0; i < phases.size(); ++i) {
      double kept = 0;
      for (std::size_t j = 0; j < phases[i].patterns.size(); ++j) {
        const PatternTraffic& traffic = predicted.value().phases[i][j];
        const PatternFloor& floor = least.value().phases[i][j];
        EXPECT_TRUE(is_fine(traffic.fetched) && is_fine(traffic.read) && is_fine(traffic.written)) << round;
        EXPECT_TRUE(is_fine(floor.read) && is_fine(floor.written) && is_fine(floor.allocated)) << round;
        const double visits = Shape(phases[i].patterns[j], cache.line_bytes).visits();
        EXPECT_LE(traffic.fetched, visits * (1 + 1e-6) + 1) << round;
        EXPECT_LE(traffic.read, traffic.fetched * (1 + 1e-6)) << round;
        kept += traffic.kept;
      }
      EXPECT_LE(kept, static_cast<double>(cache.lines) * (1 + 1e-6)) << round;
    }
    EXPECT_TRUE(is_fine(least.value().moved) && is_fine(predicted.value().modified)) << round;
  }
}

}  // namespace
}  // namespace tailor::traffic
