#include "daemon/query/sums/access_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tailor::query {
namespace {

Walk walk_of(const std::vector<std::uint64_t>& offsets) {
  Steps steps;
  for (std::size_t i = 1; i < offsets.size(); ++i) steps.add(offsets[i - 1], offsets[i]);
  return steps.walk();
}

std::vector<std::uint64_t> drawn(std::size_t count, std::uint64_t below, std::uint64_t unit) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t& each : out) each = random() % below * unit;
  return out;
}

TEST(AccessPattern, AScanInEitherDirectionIsSequential) {
  std::vector<std::uint64_t> up;
  for (std::uint64_t i = 0; i < 40; ++i) up.push_back(i * 808 + i % 3 * 8);
  EXPECT_EQ(walk_of(up).pattern, Pattern::kSequential);
  EXPECT_EQ(walk_of({up.rbegin(), up.rend()}).pattern, Pattern::kSequential);
}

TEST(AccessPattern, AScanThatBeginsAgainIsStillSequential) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < 60; ++i) offsets.push_back(i % 20 * 808 + i);
  EXPECT_EQ(walk_of(offsets).pattern, Pattern::kSequential);
}

TEST(AccessPattern, TheStrideIsTheCommonDivisorOfTheSteps) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < 40; ++i) offsets.push_back((i * 7 + i % 3) * 256);
  const Walk walk = walk_of(offsets);
  EXPECT_EQ(walk.pattern, Pattern::kStrided);
  EXPECT_EQ(walk.stride, 256u);
}

// The same addresses in another order: what a scan is told by is not which addresses there are.
TEST(AccessPattern, RandomAccessesHaveNoDirection) {
  EXPECT_EQ(walk_of(drawn(400, 1'000'000, 8)).pattern, Pattern::kRandom);
  EXPECT_EQ(walk_of(drawn(400, 1000, 256)).pattern, Pattern::kRandom);
  std::vector<std::uint64_t> sorted = drawn(400, 1'000'000, 8);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(walk_of(sorted).pattern, Pattern::kSequential);
}

TEST(AccessPattern, HalfAScanAndHalfAtRandomIsMixed) {
  std::vector<std::uint64_t> offsets = drawn(200, 1'000'000, 8);
  for (std::uint64_t i = 0; i < 200; ++i) offsets.push_back(i * 5000);
  EXPECT_EQ(walk_of(offsets).pattern, Pattern::kMixed);
}

TEST(AccessPattern, FewStepsAndOneAddressTellNothing) {
  EXPECT_EQ(walk_of(drawn(15, 1'000'000, 8)).pattern, Pattern::kUnknown);
  EXPECT_EQ(walk_of(std::vector<std::uint64_t>(100, 64)).pattern, Pattern::kUnknown);
  EXPECT_EQ(walk_of({}).pattern, Pattern::kUnknown);
}

}  // namespace
}  // namespace tailor::query
