#include "daemon/capture/select/governor.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/capture/host/sample_cost.h"
#include "daemon/capture/select/event_spec.h"

namespace tailor::capture {
namespace {

constexpr double kMax = 0.01;

// A target whose samples cost it some time, and the clock it is measured by.
struct FakeTarget {
  double cost_ns = 10'000;
  double events_per_ns = 1;
  std::uint64_t noise = 0;

  Result<TrialSlice> slice(bool sampled) {
    noise = noise * 1103515245 + 12345;
    TrialSlice slice;
    slice.cpu_ns = 3'000'000 + noise % 20'000;
    slice.samples = sampled ? 30 : 0;
    slice.cpu_ns += static_cast<std::uint64_t>(static_cast<double>(slice.samples) * cost_ns);
    return slice;
  }
  double measure() {
    return sample_cost([this](bool sampled) { return slice(sampled); }, 24).value();
  }
  // Samples in a second of CPU time.
  std::uint64_t samples(std::uint64_t period) const {
    return static_cast<std::uint64_t>(1e9 * events_per_ns / static_cast<double>(period));
  }
  double overhead(std::uint64_t period) const { return static_cast<double>(samples(period)) * cost_ns / 1e9; }
};

OverheadGovernor governor_for(std::uint64_t least_period, double events_per_ns = 1) {
  GovernorOptions options;
  options.max_overhead = kMax;
  options.least_period = least_period;
  options.events_per_ns = events_per_ns;
  options.seed = 7;
  return OverheadGovernor(options);
}

TEST(SampleCost, IsTheMedianOfThePairs) {
  FakeTarget target;
  EXPECT_NEAR(target.measure(), 10'000, 500);
  int turn = 0;
  // A pair that was disturbed says nothing.
  auto disturbed = sample_cost(
      [&](bool sampled) {
        auto slice = target.slice(sampled);
        if (turn++ % 10 == 0) slice->cpu_ns += 50'000'000;
        return slice;
      },
      25);
  EXPECT_NEAR(*disturbed, 10'000, 1'000);
}

TEST(SampleCost, IsUnknownWithoutSamplesAndNeverNegative) {
  auto none = sample_cost([](bool) -> Result<TrialSlice> { return TrialSlice{1000, 0}; }, 5);
  EXPECT_FALSE(none.ok());
  auto cheaper = sample_cost(
      [](bool sampled) -> Result<TrialSlice> { return TrialSlice{sampled ? 900u : 1000u, 1}; }, 5);
  EXPECT_EQ(*cheaper, 0);
  EXPECT_FALSE(sample_cost([](bool) -> Result<TrialSlice> { return Error{"denied"}; }, 5).ok());
}

TEST(Governor, TenTimesTheCostIsATenthOfTheRate) {
  FakeTarget cheap, dear;
  dear.cost_ns = 10 * cheap.cost_ns;
  OverheadGovernor one = governor_for(1), ten = governor_for(1);
  one.set_cost(cheap.measure());
  ten.set_cost(dear.measure());
  const double ratio =
      static_cast<double>(cheap.samples(one.draw())) / static_cast<double>(dear.samples(ten.draw()));
  EXPECT_GT(ratio, 8.5);
  EXPECT_LT(ratio, 11.5);
}

TEST(Governor, TheCostStaysBelowWhatIsAllowed) {
  FakeTarget target;
  OverheadGovernor governor = governor_for(100'000);
  governor.set_cost(target.cost_ns);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t period = governor.draw();
    EXPECT_LE(target.overhead(period), kMax);
    EXPECT_GE(target.overhead(period), kMax * 0.85);
    EXPECT_LE(governor.overhead(), kMax);
  }
}

TEST(Governor, NeverSamplesMoreThanWasAskedFor) {
  OverheadGovernor governor = governor_for(1'000'003);
  governor.set_cost(10);
  for (int i = 0; i < 100; ++i) EXPECT_GE(governor.draw(), 1'000'003u);
}

TEST(Governor, APriceThatChangesIsFollowed) {
  FakeTarget target;
  OverheadGovernor governor = governor_for(1);
  governor.set_cost(target.measure());
  governor.draw();
  target.cost_ns *= 10;
  for (int check = 0; check < 6; ++check) governor.set_cost(target.measure());
  EXPECT_LE(target.overhead(governor.draw()), kMax * 1.15);
  target.cost_ns /= 10;
  for (int check = 0; check < 6; ++check) governor.set_cost(target.measure());
  const double overhead = target.overhead(governor.draw());
  EXPECT_LE(overhead, kMax);
  EXPECT_GE(overhead, kMax * 0.5);
}

// How often an event comes is not known before: the first guess is corrected by what was counted.
TEST(Governor, ConvergesOnTheRateOfAnEvent) {
  for (double events_per_ns : {0.001, 0.3, 2.5, 40.0}) {
    FakeTarget target;
    target.events_per_ns = events_per_ns;
    OverheadGovernor governor = governor_for(1, 4);
    governor.set_cost(target.cost_ns);
    std::uint64_t period = governor.draw();
    for (int round = 0; round < 30; ++round) {
      const std::uint64_t seconds = 10;
      governor.observe(static_cast<std::uint64_t>(1e9 * events_per_ns / static_cast<double>(period) *
                                                  static_cast<double>(seconds)),
                       seconds * 1'000'000'000);
      period = governor.draw();
    }
    EXPECT_LE(target.overhead(period), kMax * 1.01) << events_per_ns;
    EXPECT_GE(target.overhead(period), kMax * 0.8) << events_per_ns;
  }
}

TEST(Governor, AFewSamplesAreNoWord) {
  OverheadGovernor governor = governor_for(1);
  governor.set_cost(10'000);
  const std::uint64_t before = governor.draw();
  governor.observe(3, 1);
  governor.observe(1000, 0);
  const std::uint64_t after = governor.draw();
  EXPECT_NEAR(static_cast<double>(after) / static_cast<double>(before), 1, 0.11);
}

TEST(Governor, PeriodsAreFreshPrimesThatTheSeedRepeats) {
  OverheadGovernor first = governor_for(1'000'000), again = governor_for(1'000'000);
  std::set<std::uint64_t> periods;
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t period = first.draw();
    EXPECT_EQ(period, prime_at_most(period));
    EXPECT_EQ(period, again.draw());
    EXPECT_LE(period, 1'101'000u);
    periods.insert(period);
  }
  EXPECT_GT(periods.size(), 45u);
  GovernorOptions ibs;
  ibs.least_period = 100'000;
  ibs.multiple_of_16 = true;
  OverheadGovernor sixteenths(ibs);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sixteenths.draw() % 16, 0u);
}

TEST(Primes, AreNeighbours) {
  EXPECT_EQ(prime_at_least(0), 2u);
  EXPECT_EQ(prime_at_least(8), 11u);
  EXPECT_EQ(prime_at_least(11), 11u);
  EXPECT_EQ(prime_at_most(10), 7u);
}

}  // namespace
}  // namespace tailor::capture
