#include "proto/traffic/lower_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "proto/traffic/shape.h"
#include "tests/unit/traffic/played.h"

namespace tailor::traffic {
namespace {

LowerBound bound(const Cache& cache, const std::vector<Phase>& phases, Ending ending = Ending::kWrittenBack) {
  Result<LowerBound> made = lower_bound(cache, phases, ending);
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message;
    LowerBound none;
    for (const Phase& phase : phases) none.phases.emplace_back(phase.patterns.size());
    return none;
  }
  return std::move(made).value();
}

// What may be beside an expected number by chance, and the hundredth that the model may exceed.
double with_slack(std::uint64_t played) {
  const double lines = static_cast<double>(played);
  return 1.01 * lines + 5 * std::sqrt(lines) + 1e-6;
}

// How many bounds of all small plans and cache sizes exceed what a played cache moved.
template <typename MakeBound>
int exceeded(std::uint32_t ways, MakeBound make_bound) {
  int out = 0;
  for (const Plan& plan : small_plans()) {
    const std::uint64_t largest = largest_region(plan, 64);
    for (const std::uint64_t about : {largest / 16, largest / 4, largest, largest * 4}) {
      const Cache cache{.lines = (about + 7) / 8 * 8};
      for (const Ending ending : {Ending::kWrittenBack, Ending::kLeft}) {
        const LowerBound least = make_bound(cache, plan.phases, ending);
        const PlayedPhases played = play(cache, plan.phases, ending, ways);
        std::uint64_t moved = 0;
        for (std::size_t i = 0; i < played.size(); ++i)
          for (std::size_t j = 0; j < played[i].size(); ++j) {
            moved += played[i][j].fetched + played[i][j].written;
            out += least.phases[i][j].read > with_slack(played[i][j].fetched);
            out += least.phases[i][j].written > with_slack(played[i][j].written);
          }
        out += least.moved > with_slack(moved);
      }
    }
  }
  return out;
}

TEST(LowerBound, NoPlayedCacheMovesLess) {
  const auto make_bound = [](const Cache& cache, const std::vector<Phase>& phases, Ending ending) {
    return bound(cache, phases, ending);
  };
  EXPECT_EQ(exceeded(0, make_bound), 0) << "fully associative";
  EXPECT_EQ(exceeded(8, make_bound), 0) << "eight ways";
}

TEST(LowerBound, ATwinThatForgetsWhatTheCacheHoldsIsFound) {
  // Each phase as if nothing came before it.
  const auto phase_by_phase = [](const Cache& cache, const std::vector<Phase>& phases, Ending) {
    LowerBound out;
    for (const Phase& phase : phases) {
      const LowerBound of_phase = bound(cache, {phase}, Ending::kWrittenBack);
      out.phases.push_back(of_phase.phases.front());
      out.moved += of_phase.moved;
    }
    return out;
  };
  EXPECT_GT(exceeded(0, phase_by_phase), 0);
}

TEST(LowerBound, IsNoSmallerThanWhatEveryCacheMustMove) {
  const std::vector<Phase> phases = {{.patterns = {scan(1, 8000, 8), written(scan(2, 8000, 8))}}};
  const LowerBound least = bound({.lines = 1 << 20}, phases);
  EXPECT_NEAR(least.read, 1000, 1e-6);
  EXPECT_NEAR(least.written, 1000, 1e-6);
  EXPECT_NEAR(least.moved, 2000, 1e-6) << "what is only overwritten need not be read";
  EXPECT_NEAR(bound({.lines = 1 << 20}, phases, Ending::kLeft).written, 0, 1e-6);
}

TEST(LowerBound, FallsWithTheCache) {
  for (const Plan& plan : small_plans()) {
    double before = std::numeric_limits<double>::max();
    for (std::uint64_t lines = 8; lines < 20000; lines *= 2) {
      const double moved = bound({.lines = lines}, plan.phases).moved;
      EXPECT_LE(moved, before * (1 + 1e-3)) << plan.name << ", " << lines << " lines";
      before = moved;
    }
  }
}

TEST(LowerBound, TheBestDivisionIsFound) {
  // A histogram that needs little space and saves much, a table that is large, and scans that are repeated.
  Pattern scans = scan(3, 2400, 8);
  scans.times = 5;
  const std::vector<Pattern> patterns = {probes(1, 640, 8, 20000), probes(2, 3200, 16, 6000), scans};
  std::vector<Shape> shapes;
  for (const Pattern& pattern : patterns) shapes.emplace_back(pattern, 64);
  for (const int lines : {20, 60, 150, 400, 900}) {
    double best = std::numeric_limits<double>::max();
    for (int first = 0; first <= std::min(lines, 80); ++first)
      for (int second = 0; first + second <= lines; second += 5)
        best = std::min(best, shapes[0].least_misses(first) + shapes[1].least_misses(second) +
                                  shapes[2].least_misses(lines - first - second));
    const LowerBound least = bound({.lines = static_cast<std::uint64_t>(lines)}, {{.patterns = patterns}});
    EXPECT_NEAR(least.moved, best, 0.005 * best) << lines << " lines";
    double allocated = 0;
    for (const PatternFloor& each : least.phases[0]) allocated += each.allocated;
    EXPECT_LE(allocated, lines + 1e-6);
    EXPECT_GE(least.moved, least.read - 1e-6) << "the floors have the whole cache each";
  }
  const LowerBound tight = bound({.lines = 100}, {{.patterns = patterns}});
  EXPECT_NEAR(tight.phases[0][0].allocated, 80, 1) << "the histogram gets all that it needs";
}

TEST(LowerBound, LeastMissesLieBelowLeastRecentlyUsed) {
  const std::vector<Pattern> patterns = {probes(1, 2000, 24, 8000), shuffled(1, 4000, 16),
                                         shuffled(1, 1600, 24, 3), scatter(1, 6400, 16, 64),
                                         scan(1, 4000, 8)};
  for (const Pattern& pattern : patterns) {
    const Shape shape(pattern, 64);
    double before = shape.least_misses(0);
    for (double lines = 10; lines <= 2000; lines += 10) {
      const double window = window_for(lines, [&](double share) { return shape.distinct(share); });
      EXPECT_LE(shape.least_misses(lines), shape.misses(window) * (1 + 1e-6)) << lines << " lines";
      EXPECT_LE(shape.least_misses(lines), before * (1 + 1e-6)) << lines << " lines";
      EXPECT_GE(shape.least_misses(lines), shape.footprint() * (1 - 1e-6)) << lines << " lines";
      before = shape.least_misses(lines);
    }
  }
}

// What a cache fetches that knows how many uses each line has left in one pass over the region, and keeps
// those with most. It may leave out what it fetches.
double fetched_by_uses_left(const Pattern& pattern, std::size_t lines) {
  Draws draws(7);
  const std::vector<std::uint64_t> items = items_of(pattern, draws);
  std::vector<int> left(pattern.region.items * pattern.region.item_bytes / 64 + 1);
  const auto line_of = [&](std::uint64_t item) {
    return static_cast<std::size_t>(item * pattern.region.item_bytes / 64);
  };
  for (const std::uint64_t item : items) ++left[line_of(item)];
  std::set<std::size_t> kept;
  double fetched = 0;
  for (const std::uint64_t item : items) {
    const std::size_t line = line_of(item);
    --left[line];
    if (kept.contains(line)) {
      if (left[line] == 0) kept.erase(line);
      continue;
    }
    ++fetched;
    if (left[line] == 0) continue;
    kept.insert(line);
    if (kept.size() <= lines) continue;
    kept.erase(std::ranges::min_element(kept, {}, [&](std::size_t each) { return left[each]; }));
  }
  return fetched;
}

// Patterns whose lines have no use left at some time, with 8 and with 4 items a line.
std::vector<Pattern> patterns_with_ends() {
  return {shuffled(1, 3200, 8), shuffled(1, 3200, 16), scatter(1, 6400, 16, 64)};
}

TEST(LowerBound, NoCacheThatKnowsTheUsesLeftMovesLess) {
  for (const Pattern& pattern : patterns_with_ends())
    for (const std::size_t lines : {8U, 16U, 32U, 100U, 200U}) {
      const double fetched = fetched_by_uses_left(pattern, lines);
      EXPECT_LE(Shape(pattern, 64).least_misses(static_cast<double>(lines)),
                1.01 * fetched + 5 * std::sqrt(fetched))
          << lines << " lines";
    }
}

TEST(LowerBound, ATwinThatTakesTheLeastRecentlyUsedForTheBestIsFound) {
  int exceeded_by = 0;
  for (const Pattern& pattern : patterns_with_ends())
    for (const std::size_t lines : {32U, 100U, 200U}) {
      const Shape shape(pattern, 64);
      const double window =
          window_for(static_cast<double>(lines), [&](double share) { return shape.distinct(share); });
      const double fetched = fetched_by_uses_left(pattern, lines);
      exceeded_by += shape.misses(window) > 1.01 * fetched + 5 * std::sqrt(fetched);
    }
  EXPECT_GT(exceeded_by, 0);
}

TEST(LowerBound, PartsShareWhatTheCacheHeldOfTheWhole) {
  const std::vector<Phase> halves = [] {
    const std::vector<Phase> of_block = {{.patterns = {scan(1, 16000, 8)}}};
    const std::vector<std::uint32_t> regions = {1};
    return blocked(of_block, 2, regions).value();
  }();
  std::vector<Phase> phases = {{.patterns = {written(scan(1, 16000, 8))}}};
  phases.insert(phases.end(), halves.begin(), halves.end());
  const LowerBound least = bound({.lines = 500}, phases);
  EXPECT_NEAR(least.read, 1500, 1e-6) << "500 of 2000 lines may have been left";
  EXPECT_NEAR(bound({.lines = 5000}, phases).read, 0, 1e-6);
}

TEST(LowerBound, PatternsThatShareARegionHaveNoFloor) {
  const LowerBound least =
      bound({.lines = 100}, {{.patterns = {scan(1, 8000, 8), updated(scan(1, 8000, 8))}}});
  EXPECT_EQ(least.phases[0][0].read, 0);
  EXPECT_EQ(least.phases[0][1].read, 0);
  EXPECT_NEAR(least.phases[0][1].written, 1000, 1e-6) << "it alone writes";
}

TEST(LowerBound, ImpossiblePatternsAreAnError) {
  const std::vector<Phase> phases = {{.patterns = {scan(1, 10, 0)}}};
  EXPECT_FALSE(traffic::lower_bound({.lines = 10}, phases, Ending::kLeft).ok());
}

}  // namespace
}  // namespace tailor::traffic
