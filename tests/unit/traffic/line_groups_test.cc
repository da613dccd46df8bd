#include "proto/traffic/line_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace tailor::traffic {
namespace {

// Counts item by item.
std::map<double, double> counted(const Region& region, std::uint32_t used_bytes, std::uint32_t line_bytes) {
  std::map<std::uint64_t, double> items_on;
  const std::uint64_t used = used_bytes == 0 ? region.item_bytes : used_bytes;
  for (std::uint64_t i = 0; i < region.items; ++i) {
    const std::uint64_t begin = i * region.item_bytes;
    for (std::uint64_t line = begin / line_bytes; line <= (begin + used - 1) / line_bytes; ++line)
      items_on[line] += 1;
  }
  std::map<double, double> out;
  for (const auto& [line, items] : items_on) out[items] += 1;
  return out;
}

TEST(LineGroups, AreThoseOfTheRealLayout) {
  for (const std::uint32_t bytes : {1U, 4U, 7U, 8U, 24U, 40U, 63U, 64U, 65U, 100U, 128U, 192U, 1000U, 4096U})
    for (const std::uint32_t used : {0U, 1U, 5U, 64U, 65U, 900U})
      for (const std::uint64_t items : {1U, 2U, 3U, 9U, 64U, 65U, 500U, 2049U}) {
        if (used > bytes) continue;
        const Region region{.items = items, .item_bytes = bytes};
        std::map<double, double> found;
        for (const LineGroup& group : line_groups(region, used, 64)) found[group.items] += group.lines;
        EXPECT_EQ(found, counted(region, used, 64))
            << items << " items of " << bytes << " bytes, " << used << " used";
      }
}

TEST(LineGroups, HaveNothingWithoutItems) {
  EXPECT_TRUE(line_groups({.items = 0, .item_bytes = 8}, 0, 64).empty());
  EXPECT_EQ(lines_in({}), 0);
  EXPECT_EQ(visits_in({}), 0);
}

TEST(LineGroups, TakeTheLargestRegionsAtOnce) {
  constexpr std::uint64_t kItems = kMostRegionBytes / 4095;
  const std::vector<LineGroup> groups = line_groups({.items = kItems, .item_bytes = 4095}, 1, 64);
  EXPECT_NEAR(lines_in(groups), static_cast<double>(kItems), 1) << "one line for each item";
}

// All sequences of accesses, one by one.
double distinct_by_hand(const Region& region, std::uint32_t accesses) {
  std::uint64_t sequences = 1;
  for (std::uint32_t i = 0; i < accesses; ++i) sequences *= region.items;
  double sum = 0;
  for (std::uint64_t sequence = 0; sequence < sequences; ++sequence) {
    std::map<std::uint64_t, bool> lines;
    std::uint64_t rest = sequence;
    for (std::uint32_t i = 0; i < accesses; ++i, rest /= region.items) {
      const std::uint64_t begin = rest % region.items * region.item_bytes;
      for (std::uint64_t line = begin / 64; line <= (begin + region.item_bytes - 1) / 64; ++line)
        lines[line] = true;
    }
    sum += static_cast<double>(lines.size());
  }
  return sum / static_cast<double>(sequences);
}

TEST(DistinctLines, AreExpectedExactly) {
  for (const std::uint32_t bytes : {8U, 24U, 40U, 64U, 100U})
    for (const std::uint32_t accesses : {1U, 2U, 4U}) {
      const Region region{.items = 9, .item_bytes = bytes};
      const std::vector<LineGroup> groups = line_groups(region, 0, 64);
      EXPECT_NEAR(distinct_of_accesses(groups, 9, accesses), distinct_by_hand(region, accesses), 1e-9)
          << accesses << " accesses to items of " << bytes << " bytes";
    }
}

TEST(DistinctLines, OfAShareOfTheItems) {
  // Each subset of 10 items of 24 bytes, with its chance.
  const Region region{.items = 10, .item_bytes = 24};
  const double share = 0.3;
  double sum = 0;
  for (std::uint32_t subset = 0; subset < 1024; ++subset) {
    std::map<std::uint64_t, bool> lines;
    double chance = 1;
    for (std::uint32_t i = 0; i < 10; ++i) {
      const bool is_in = (subset >> i & 1U) != 0;
      chance *= is_in ? share : 1 - share;
      if (!is_in) continue;
      for (std::uint64_t line = i * 24 / 64; line <= (i * 24 + 23) / 64; ++line) lines[line] = true;
    }
    sum += chance * static_cast<double>(lines.size());
  }
  EXPECT_NEAR(distinct_of_share(line_groups(region, 0, 64), share), sum, 1e-9);
}

TEST(DistinctLines, NeverKeepsItsPrecision) {
  EXPECT_EQ(never(0, 5), 1);
  EXPECT_EQ(never(0.5, 0), 1);
  EXPECT_EQ(never(1, 0), 1);
  EXPECT_EQ(never(1, 0.25), 0);
  EXPECT_NEAR(never(0.25, 2), 0.5625, 1e-12);
  EXPECT_NEAR(never(1e-15, 1e15), std::exp(-1.0), 1e-9);
  EXPECT_NEAR(ever(0.25, 2), 0.4375, 1e-12);
  EXPECT_NEAR(ever(1e-15, 3) / 3e-15, 1, 1e-9);
  EXPECT_EQ(ever(1, 0), 0);
  EXPECT_EQ(ever(1, 0.25), 1);
  EXPECT_EQ(ever(0, 5), 0);
}

}  // namespace
}  // namespace tailor::traffic
