// Loops that chance makes are none: samples in random order, and bursts that came three times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "daemon/query/time/sampled_loop.h"

namespace tailor::query {
namespace {

constexpr TimeNs kStep = 250'000;  // between two samples, at 4 kHz

// Samples of up to five operators with random shares, one `kStep` apart, in random order.
std::vector<OwnedSample> in_random_order(unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t operators = 1 + random() % 5, count = 12 + random() % 300;
  std::vector<double> shares;
  for (std::size_t i = 0; i < operators; ++i) shares.push_back(1.0 / static_cast<double>(1 + random() % 20));
  std::discrete_distribution<std::uint32_t> owner(shares.begin(), shares.end());
  std::vector<OwnedSample> samples;
  for (std::size_t i = 0; i < count; ++i)
    samples.push_back({static_cast<TimeNs>(i) * kStep, static_cast<ComponentId>(1 + owner(random))});
  return samples;
}

// `shown` of `seeds` random executions show a loop.
template <typename Make>
std::size_t loops_in(unsigned seeds, Make make) {
  std::size_t shown = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) shown += iteration_ends(make(seed)).empty() ? 0 : 1;
  return shown;
}

constexpr unsigned kSeeds = 10'000;
constexpr std::size_t kMostByChance = kSeeds / 1000;

TEST(LoopChance, SamplesInRandomOrderShowNoLoop) {
  EXPECT_LE(loops_in(kSeeds, in_random_order), kMostByChance);
}

// As samples of a live recording: at random times, with weights between half and twice the period.
TEST(LoopChance, NorDoThoseAtRandomTimesWithDrawnWeights) {
  EXPECT_LE(loops_in(kSeeds,
                     [](unsigned seed) {
                       auto samples = in_random_order(seed);
                       std::mt19937 random(seed + kSeeds);
                       std::exponential_distribution<double> gap(1.0 / kStep);
                       TimeNs time = 0;
                       for (OwnedSample& sample : samples) {
                         sample.weight = kStep / 2 + random() % (kStep * 3 / 2);
                         sample.time = time += 1 + static_cast<TimeNs>(gap(random));
                       }
                       return samples;
                     }),
            kMostByChance);
}

// One operator in `bursts` bursts of ten samples, of which the others have `between(i)`.
template <typename Between>
std::vector<OwnedSample> in_bursts(std::size_t bursts, Between between) {
  std::vector<OwnedSample> samples;
  const auto add = [&](std::size_t count, ComponentId owner) {
    for (std::size_t i = 0; i < count; ++i)
      samples.push_back({static_cast<TimeNs>(samples.size()) * kStep, owner});
  };
  for (std::size_t i = 0; i < bursts; ++i) {
    add(10, 1);
    add(between(i), 2);
  }
  return samples;
}

// Each burst alone is no chance, but their pace is: bursts of one length at random times, and the gaps of the
// other operator, which are as even as these bursts.
TEST(LoopChance, BurstsThatComeAtRandomAreNoLoop) {
  EXPECT_LE(loops_in(kSeeds,
                     [](unsigned seed) {
                       std::mt19937 random(seed);
                       std::exponential_distribution<double> gap(1.0 / 60);
                       return in_bursts(3 + random() % 20, [&](std::size_t) {
                         return 5 + static_cast<std::size_t>(gap(random));
                       });
                     }),
            kMostByChance);
}

// What a query does three times is no loop, however alike two of the times are.
TEST(LoopChance, ThreeTimesAreTooFew) {
  EXPECT_TRUE(iteration_ends(in_bursts(3, [](std::size_t i) { return i == 2 ? 31 : 4; })).empty());
  EXPECT_TRUE(iteration_ends(in_bursts(3, [](std::size_t) { return 40; })).empty());
}

// The twin: as even, but often.
TEST(LoopChance, TwelveTimesAreALoop) {
  EXPECT_EQ(iteration_ends(in_bursts(12, [](std::size_t i) { return 40 + i % 3; })).size(), 12u);
}

TEST(LoopChance, SomeIterationsMayBeOdd) {
  const auto samples = in_bursts(24, [](std::size_t i) { return i % 8 == 7 ? 55 : 40 + i % 3; });
  EXPECT_EQ(iteration_ends(samples).size(), 24u);
}

// Bursts of 30 samples between 600 of another operator, of which one in `one_in` is of the first one's code.
std::vector<OwnedSample> with_strays(unsigned seed, unsigned one_in) {
  std::mt19937 random(seed);
  std::vector<OwnedSample> samples;
  const auto add = [&](std::size_t count, auto owner_of) {
    for (std::size_t i = 0; i < count; ++i)
      samples.push_back({static_cast<TimeNs>(samples.size()) * kStep, owner_of()});
  };
  for (int i = 0; i < 26; ++i) {
    add(550 + random() % 100, [&] { return random() % one_in == 0 ? ComponentId{1} : ComponentId{2}; });
    add(25 + random() % 10, [] { return ComponentId{1}; });
  }
  return samples;
}

// Code of an operator that stands within the loop of another one does not hide its pace. The twin: half of
// that loop is its code.
TEST(LoopChance, StrayCodeHidesNoLoop) {
  std::size_t found = 0;
  for (unsigned seed = 1; seed <= 100; ++seed)
    found += iteration_ends(with_strays(seed, 300)).size() == 26 ? 1 : 0;
  EXPECT_GE(found, 99u);
  EXPECT_TRUE(iteration_ends(with_strays(1, 2)).empty());
}

// ---- the chance itself

std::vector<double> random_excess(std::mt19937& random, std::size_t count) {
  std::exponential_distribution<double> part(1);
  std::vector<double> excess(count);
  for (double& each : excess) each = part(random);
  std::sort(excess.begin(), excess.end());
  return excess;
}

// A bound of the chance: parts of a sum that is divided at random fall below it at most that often.
TEST(LoopChance, IsABound) {
  std::mt19937 random(1);
  for (const std::size_t count : {2, 3, 5, 10, 40}) {
    for (const double bound : {0.2, 0.05, 0.01}) {
      std::size_t below = 0;
      for (unsigned i = 0; i < kSeeds; ++i)
        below += chance_of_gaps(random_excess(random, count), 0) <= bound ? 1 : 0;
      // Four standard deviations of the count itself.
      const double most = bound * kSeeds + 4 * std::sqrt(bound * kSeeds);
      EXPECT_LE(static_cast<double>(below), most) << count << " gaps, " << bound;
    }
  }
}

TEST(LoopChance, OfTwoGapsIsTheRestOfTheLine) {
  // The shorter of two parts has at least 0.4 of their sum with the chance 1 - 2 * 0.4.
  EXPECT_NEAR(chance_of_gaps({4, 6}, 0), 0.2, 1e-9);
  EXPECT_NEAR(chance_of_gaps({4, 6}, 1), 0.4, 1e-9) << "a gap is known to one sample";
  EXPECT_DOUBLE_EQ(chance_of_gaps({}, 0), 1);
  EXPECT_DOUBLE_EQ(chance_of_gaps({5}, 0), 1);
}

TEST(LoopChance, IsSmallForManyEvenGapsOnly) {
  EXPECT_LT(chance_of_gaps(std::vector<double>(12, 90), 1), 1e-12);
  EXPECT_GT(chance_of_gaps({10, 40, 90, 160, 250, 360, 490, 640}, 1), 0.1);
  // Two of twelve are odd.
  std::vector<double> excess(12, 90);
  excess.front() = 3;
  excess.back() = 900;
  EXPECT_LT(chance_of_gaps(excess, 1), 1e-9);
}

}  // namespace
}  // namespace tailor::query
