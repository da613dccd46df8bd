#include "proto/traffic/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/unit/traffic/played.h"

namespace tailor::traffic {
namespace {

Estimate estimated(const Cache& cache, const std::vector<Phase>& phases,
                   Ending ending = Ending::kWrittenBack) {
  Result<Estimate> made = estimate(cache, phases, ending);
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message;
    Estimate none;
    for (const Phase& phase : phases) none.phases.emplace_back(phase.patterns.size());
    return none;
  }
  return std::move(made).value();
}

// One pattern, direction and cache size.
struct Cell {
  std::string name = {};
  double predicted = 0;
  double played = 0;
  // More than this is no chance: 10 %, or what the numbers of random accesses vary by.
  bool is_near() const {
    return std::abs(predicted - played) <= std::max(0.1 * played, 5 * std::sqrt(played));
  }
};

// Those with at least a hundredth of what moves.
std::vector<Cell> cells_of(const std::string& name, const Estimate& predicted, const PlayedPhases& played) {
  double all = 0;
  for (const std::vector<SimulatedTraffic>& phase : played)
    for (const SimulatedTraffic& each : phase) all += static_cast<double>(each.fetched + each.written);
  std::vector<Cell> out;
  for (std::size_t i = 0; i < played.size(); ++i)
    for (std::size_t j = 0; j < played[i].size(); ++j) {
      const std::string of = name + ", pattern " + std::to_string(i + 1) + "." + std::to_string(j + 1);
      out.push_back({of + " read", predicted.phases[i][j].read, static_cast<double>(played[i][j].fetched)});
      out.push_back(
          {of + " written", predicted.phases[i][j].written, static_cast<double>(played[i][j].written)});
    }
  std::erase_if(out, [&](const Cell& cell) { return std::max(cell.predicted, cell.played) < all / 100; });
  return out;
}

// A model that forgets write-backs: what the thesis says Manegold's is (7.2).
void forget_write_backs(Estimate& of) {
  for (std::vector<PatternTraffic>& phase : of.phases)
    for (PatternTraffic& each : phase) each.written = 0;
}

std::vector<Cell> cells_of_small_plans(bool is_forgetful) {
  std::vector<Cell> out;
  for (const Plan& plan : small_plans()) {
    const std::uint64_t largest = largest_region(plan, 64);
    for (const std::uint64_t lines : {largest / 16, largest / 4, largest, largest * 4}) {
      const Cache cache{.lines = lines};
      Estimate predicted = estimated(cache, plan.phases);
      if (is_forgetful) forget_write_backs(predicted);
      const PlayedPhases played = play(cache, plan.phases, Ending::kWrittenBack);
      const std::vector<Cell> cells =
          cells_of(plan.name + ", " + std::to_string(lines) + " lines", predicted, played);
      out.insert(out.end(), cells.begin(), cells.end());
    }
  }
  return out;
}

TEST(Estimate, AgreesWithAPlayedCacheForSmallPlans) {
  const std::vector<Cell> cells = cells_of_small_plans(false);
  ASSERT_GT(cells.size(), 80U);
  const auto near = std::ranges::count_if(cells, &Cell::is_near);
  EXPECT_GE(static_cast<double>(near), 0.9 * static_cast<double>(cells.size()));
  for (const Cell& cell : cells)
    if (!cell.is_near())
      std::printf("%s: predicted %.0f, played %.0f\n", cell.name.c_str(), cell.predicted, cell.played);
}

TEST(Estimate, ATwinThatForgetsWriteBacksIsFound) {
  const std::vector<Cell> cells = cells_of_small_plans(true);
  const auto near = std::ranges::count_if(cells, &Cell::is_near);
  EXPECT_LT(static_cast<double>(near), 0.9 * static_cast<double>(cells.size()));
}

// What patterns that run together fetch. Their numbers vary by chance: so do the bounds.
void expect_fetches(const Phase& phase, std::uint64_t lines, const std::string& what) {
  const Cache cache{.lines = lines};
  const Estimate predicted = estimated(cache, {phase});
  const PlayedPhases played = play(cache, {phase}, Ending::kWrittenBack);
  ASSERT_EQ(played.size(), 1U);
  for (std::size_t i = 0; i < phase.patterns.size(); ++i) {
    const double fetched = static_cast<double>(played[0][i].fetched);
    EXPECT_NEAR(predicted.phases[0][i].fetched, fetched, 0.03 * fetched + 4 * std::sqrt(fetched))
        << what << ", pattern " << i + 1 << ", " << lines << " lines";
    const double written = static_cast<double>(played[0][i].written);
    EXPECT_NEAR(predicted.phases[0][i].written, written, 0.03 * written + 4 * std::sqrt(written))
        << what << ", pattern " << i + 1 << ", " << lines << " lines";
  }
}

TEST(Estimate, OneRandomPattern) {
  for (const std::uint64_t lines : {32U, 128U, 400U, 800U}) {
    expect_fetches({.patterns = {probes(1, 2000, 24, 8000)}}, lines, "accesses");
    expect_fetches({.patterns = {updated(probes(1, 2000, 24, 8000))}}, lines, "updates");
    expect_fetches({.patterns = {shuffled(1, 4000, 16)}}, lines, "traversal");
    expect_fetches({.patterns = {shuffled(1, 1600, 16, 3)}}, lines, "three traversals");
    expect_fetches({.patterns = {shuffled(1, 500, 64, 4)}}, lines, "four traversals of whole lines");
  }
}

TEST(Estimate, RepeatedScans) {
  Pattern scans = scan(1, 4000, 8);
  scans.times = 4;
  for (const std::uint64_t lines : {50U, 200U, 499U, 500U, 900U})
    expect_fetches({.patterns = {scans}}, lines, "one way");
  scans.turns = true;
  for (const std::uint64_t lines : {50U, 200U, 499U, 500U, 900U})
    expect_fetches({.patterns = {scans}}, lines, "to and fro");
}

TEST(Estimate, Strides) {
  Pattern strided = scan(1, 3000, 100);
  strided.used_bytes = 8;
  for (const std::uint64_t lines : {10U, 5000U})
    expect_fetches({.patterns = {strided}}, lines, "of 100 bytes");
  strided.region.item_bytes = 40;
  for (const std::uint64_t lines : {10U, 5000U})
    expect_fetches({.patterns = {strided}}, lines, "of 40 bytes");
}

TEST(Estimate, AConditionalScanBesideUpdates) {
  Pattern some = scan(1, 8000, 8);
  some.kind = PatternKind::kConditional;
  some.share = 0.05;
  expect_fetches({.patterns = {some, updated(probes(2, 1000, 16, 2000))}}, 100, "5 %");
}

TEST(Estimate, AScanDrivesOutWhatIsProbed) {
  for (const std::uint64_t lines : {60U, 150U, 300U, 1500U})
    expect_fetches({.patterns = {scan(1, 8000, 8), probes(2, 1000, 16, 6000)}}, lines, "scan and probes");
}

TEST(Estimate, TwoPatternsOfOneRegionShareItsLines) {
  const double once = [] {
    const Phase phase{.patterns = {probes(1, 1000, 64, 3000)}};
    return estimated({.lines = 200}, {phase}).phases[0][0].fetched;
  }();
  const Phase half{.patterns = {probes(1, 1000, 64, 1500), probes(1, 1000, 64, 1500)}};
  const Estimate both = estimated({.lines = 200}, {half});
  EXPECT_NEAR(both.phases[0][0].fetched + both.phases[0][1].fetched, once, 0.001 * once);
}

TEST(Estimate, Partitions) {
  for (const std::uint64_t lines : {120U, 400U, 3000U})
    expect_fetches({.patterns = {scatter(1, 6400, 16, 64)}}, lines, "scattered at random");
  Pattern in_turn = scatter(1, 6400, 16, 64);
  in_turn.at_random = false;
  for (const std::uint64_t lines : {40U, 80U, 3000U})
    expect_fetches({.patterns = {in_turn}}, lines, "scattered in turn");
}

TEST(Estimate, WhatBypassesTheCacheLeavesItAlone) {
  Pattern stream = written(scan(1, 8000, 8));
  stream.allocates = false;
  const Estimate found = estimated({.lines = 100}, {{.patterns = {stream, probes(2, 400, 16, 5000)}}});
  EXPECT_EQ(found.phases[0][0].read, 0) << "stores are combined to whole lines";
  EXPECT_NEAR(found.phases[0][0].written, 1000, 1e-6);
  EXPECT_NEAR(found.phases[0][1].fetched, 100, 1e-6) << "the region of 100 lines fits";
}

TEST(Estimate, ALineThatIsOnlyOverwrittenIsReadIfTheCacheFills) {
  const std::vector<Phase> phases = {{.patterns = {written(scan(1, 8000, 8))}}};
  EXPECT_NEAR(estimated({.lines = 100}, phases).lines_read(), 1000, 1e-6);
  EXPECT_NEAR(estimated({.lines = 100, .fills_on_write = false}, phases).lines_read(), 0, 1e-6);
  EXPECT_NEAR(estimated({.lines = 100, .fills_on_write = false}, phases).lines_written(), 1000, 1e-6);
}

TEST(Estimate, WhatIsLeftAtTheEndIsCounted) {
  const std::vector<Phase> phases = {{.patterns = {written(scan(1, 8000, 8))}}};
  const Estimate left = estimated({.lines = 100}, phases, Ending::kLeft);
  EXPECT_NEAR(left.modified, 100, 1e-6);
  EXPECT_NEAR(left.lines_written(), 900, 1e-6);
  EXPECT_NEAR(estimated({.lines = 2000}, phases, Ending::kLeft).lines_written(), 0, 1e-6);
}

TEST(Estimate, WhatIsDiscardedIsNotWrittenBack) {
  std::vector<Phase> phases = {{.patterns = {written(scan(1, 8000, 8))}},
                               {.patterns = {scan(1, 8000, 8)}, .discarded = {1}}};
  EXPECT_NEAR(estimated({.lines = 2000}, phases).lines_written(), 0, 1e-6);
  EXPECT_NEAR(estimated({.lines = 100}, phases).lines_written(), 1000, 1) << "it did not fit";
  phases[1].discarded.clear();
  EXPECT_NEAR(estimated({.lines = 2000}, phases).lines_written(), 1000, 1e-6);
  phases[0].patterns[0].discards = true;
  EXPECT_NEAR(estimated({.lines = 2000}, phases).lines_written(), 0, 1e-6);
}

TEST(Estimate, AWriteBackCountsForTheLastWriter) {
  const std::vector<Phase> phases = {{.patterns = {written(scan(1, 8000, 8))}},
                                     {.patterns = {updated(scan(1, 8000, 8))}}};
  const Estimate found = estimated({.lines = 2000}, phases);
  EXPECT_NEAR(found.phases[0][0].written, 0, 1e-6);
  EXPECT_NEAR(found.phases[1][0].written, 1000, 1e-6);
  EXPECT_NEAR(found.phases[1][0].fetched, 0, 1e-6);
}

TEST(Estimate, BlocksThatFitAreReadOnce) {
  // A partition of 125 lines is written, then probed while it is there.
  const std::vector<Phase> of_block = {{.patterns = {written(scan(1, 16000, 8))}},
                                       {.patterns = {probes(1, 16000, 8, 40000)}}};
  const std::vector<std::uint32_t> regions = {1};
  Result<std::vector<Phase>> phases = blocked(of_block, 16, regions);
  ASSERT_TRUE(phases.ok());
  const Cache cache{.lines = 300};
  const Estimate found = estimated(cache, phases.value());
  const PlayedPhases played = play(cache, phases.value(), Ending::kWrittenBack);
  double probed = 0, probed_played = 0;
  for (std::size_t i = 1; i < played.size(); i += 2) {
    probed += found.phases[i][0].fetched;
    probed_played += static_cast<double>(played[i][0].fetched);
  }
  EXPECT_EQ(probed_played, 0);
  EXPECT_LT(probed, 20);
  EXPECT_NEAR(found.lines_written(), 2000, 1);
  const Estimate whole = estimated(cache, of_block);
  EXPECT_GT(whole.phases[1][0].fetched, 20000) << "without blocks most probes miss";
}

TEST(Estimate, ManyBlocksAreEvaluatedInTime) {
  const std::vector<Phase> of_block = {
      {.patterns = {scan(1, 1U << 20, 8), written(scan(2, 1U << 20, 8))}},
      {.patterns = {scan(2, 1U << 20, 8), updated(probes(3, 4096, 8, 1U << 20))}}};
  const std::vector<std::uint32_t> regions = {1, 2};
  Result<std::vector<Phase>> phases = blocked(of_block, 256, regions);
  ASSERT_TRUE(phases.ok());
  const Estimate found = estimated({.lines = 1U << 18}, phases.value());
  constexpr unsigned kLines = (1U << 20) / 8;  // of one region
  EXPECT_NEAR(found.lines_read(), 2 * kLines + 512, 600) << "each line of 1, 2 and 3 once";
}

TEST(Estimate, NothingMovesNothing) {
  EXPECT_EQ(estimated({.lines = 10}, {}).lines_read(), 0);
  const std::vector<Phase> idle = {{}, {.patterns = {scan(1, 0, 8), probes(2, 0, 8, 0)}}};
  EXPECT_EQ(estimated({.lines = 10}, idle).lines_read(), 0);
  EXPECT_EQ(estimated({.lines = 10}, idle).lines_written(), 0);
}

TEST(Estimate, ImpossiblePatternsAreAnError) {
  const std::vector<Phase> phases = {{.patterns = {scan(1, 10, 0)}}};
  EXPECT_FALSE(estimate({.lines = 10}, phases, Ending::kLeft).ok());
}

}  // namespace
}  // namespace tailor::traffic
