#include "daemon/process/region_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace tailor::process {
namespace {

std::uint32_t kind_at(RegionTimeline& regions, std::uint64_t address, TimeNs time) {
  const Region* found = regions.find(address, time);
  return found == nullptr ? 0 : found->kind;
}

TEST(RegionTimeline, KnowsWhatWasThereAtTheTime) {
  RegionTimeline regions({});
  regions.add(1, 1000, 100, 10);
  regions.remove(1000, 20);
  regions.add(2, 1050, 100, 30);
  EXPECT_EQ(kind_at(regions, 1000, 9), 0u);
  EXPECT_EQ(kind_at(regions, 1000, 10), 1u);
  EXPECT_EQ(kind_at(regions, 1099, 19), 1u);
  EXPECT_EQ(kind_at(regions, 1100, 19), 0u);
  EXPECT_EQ(kind_at(regions, 1099, 20), 0u);
  EXPECT_EQ(kind_at(regions, 1099, 30), 2u);
  EXPECT_EQ(kind_at(regions, 1149, 31), 2u);
}

TEST(RegionTimeline, ChangesOfSeveralThreadsAreAppliedByTime) {
  RegionTimeline regions({});
  regions.remove(1000, 20);  // read before the log of the thread that added it
  regions.add(1, 1000, 100, 10);
  regions.add(2, 1000, 100, 25);
  EXPECT_EQ(kind_at(regions, 1000, 15), 1u);
  EXPECT_EQ(kind_at(regions, 1000, 22), 0u);
  EXPECT_EQ(kind_at(regions, 1000, 25), 2u);
  EXPECT_EQ(regions.unmatched(), 0u);
}

TEST(RegionTimeline, OneAddedOverOthersEndsThem) {
  RegionTimeline regions({});
  regions.add(1, 1000, 100, 1);
  regions.add(2, 1100, 100, 1);
  regions.add(3, 1300, 100, 1);
  regions.add(4, 1050, 100, 2);
  EXPECT_EQ(kind_at(regions, 1010, 2), 0u);
  EXPECT_EQ(kind_at(regions, 1060, 2), 4u);
  EXPECT_EQ(kind_at(regions, 1160, 2), 0u);
  EXPECT_EQ(kind_at(regions, 1300, 2), 3u);
  EXPECT_EQ(regions.replaced(), 2u);
}

TEST(RegionTimeline, ImpossibleRangesAndUnknownRemovalsAreCounted) {
  RegionTimeline regions({});
  regions.add(1, 1000, 0, 1);
  regions.add(1, ~std::uint64_t{0} - 10, 100, 1);
  regions.remove(5, 1);
  regions.advance(2);
  EXPECT_EQ(regions.unmatched(), 3u);
  EXPECT_EQ(regions.live(), 0u);
}

TEST(RegionTimeline, HoldsNoMoreThanItsLimits) {
  Limits limits;
  limits.regions = 10;
  limits.region_changes = 20;
  RegionTimeline regions(limits);
  for (std::uint64_t i = 0; i < 100; ++i) regions.add(1, 1000 * i + 1, 10, 5);
  EXPECT_EQ(regions.waiting(), 20u);
  regions.advance(5);
  EXPECT_EQ(regions.live(), 10u);
  EXPECT_EQ(regions.refused(), 90u);
  for (std::uint64_t i = 0; i < 100; ++i) regions.remove(1000 * i + 1, 6);
  EXPECT_LE(regions.waiting(), 20u);
  regions.advance(6);
  EXPECT_EQ(regions.live(), 0u);
}

TEST(RegionTimeline, AllEndsWithTheAgent) {
  RegionTimeline regions({});
  regions.add(1, 1000, 100, 1);
  regions.add(2, 2000, 100, 50);
  regions.clear(10);
  EXPECT_EQ(kind_at(regions, 1000, 9), 1u);
  EXPECT_EQ(kind_at(regions, 1000, 10), 0u);
  EXPECT_EQ(kind_at(regions, 2000, 50), 2u);
}

// A list of everything that ever happened, walked from the beginning for each question.
class Naive {
 public:
  void add(std::uint32_t kind, std::uint64_t base, std::uint64_t bytes, TimeNs time) {
    changes_.push_back({time, {base, base + bytes, kind}, false});
  }
  void remove(std::uint64_t base, TimeNs time) { changes_.push_back({time, {base, 0, 0}, true}); }
  std::uint32_t kind_at(std::uint64_t address, TimeNs time) {
    std::ranges::stable_sort(changes_, {}, &Change::time);
    std::vector<Region> live;
    for (const Change& change : changes_) {
      if (change.time > time) break;
      const Region& r = change.region;
      std::erase_if(live, [&](const Region& l) {
        return change.remove ? l.base == r.base : l.base < r.end && r.base < l.end;
      });
      if (!change.remove) live.push_back(r);
    }
    for (const Region& region : live) {
      if (region.base <= address && address < region.end) return region.kind;
    }
    return 0;
  }

 private:
  struct Change {
    TimeNs time;
    Region region;
    bool remove;
  };
  std::vector<Change> changes_;
};

TEST(RegionTimeline, AgreesWithAWalkOverEverything) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    RegionTimeline regions({});
    Naive naive;
    std::vector<std::uint64_t> bases;
    TimeNs watermark = 0;
    std::uint32_t kind = 0;
    for (int round = 0; round < 40; ++round) {
      // Of several threads: not in order, but not before the watermark.
      for (int i = 0; i < 8; ++i) {
        const TimeNs time = watermark + 1 + static_cast<TimeNs>(random() % 50);
        if (!bases.empty() && random() % 3 == 0) {
          const std::uint64_t base = bases[random() % bases.size()];
          regions.remove(base, time);
          naive.remove(base, time);
        } else {
          const std::uint64_t base = random() % 1000, bytes = 1 + random() % 100;
          bases.push_back(base);
          regions.add(++kind, base, bytes, time);
          naive.add(kind, base, bytes, time);
        }
      }
      for (int i = 0; i < 10; ++i) {
        const TimeNs time = watermark + i;
        const std::uint64_t address = random() % 1100;
        ASSERT_EQ(kind_at(regions, address, time), naive.kind_at(address, time)) << seed << ": " << time;
      }
      watermark += 10;
    }
  }
}

// As many as a large engine has. Held against a look at every region for a sample of the questions.
TEST(RegionTimeline, AMillionLiveRegionsAreFoundByAddressAndTime) {
  constexpr std::size_t kRegions = 1'000'000;
  constexpr TimeNs kNever = kTimeMax;
  struct Known {
    std::uint64_t base, bytes;
    TimeNs from, to;
    std::uint32_t kind;
  };
  std::mt19937_64 random(11);
  std::vector<Known> all;
  RegionTimeline regions({});
  // A tenth of them ends, and another one takes the place.
  std::uint64_t base = 0x10000;
  const auto begin = [&](std::uint64_t at, TimeNs from) {
    all.push_back({at, 16 + random() % 4000, from, kNever, static_cast<std::uint32_t>(all.size() + 1)});
    regions.add(all.back().kind, at, all.back().bytes, from);
  };
  for (std::size_t i = 0; i < kRegions; ++i, base += 4096 + random() % 4096)
    begin(base, static_cast<TimeNs>(random() % 1000));
  for (std::size_t i = 0; i < kRegions; i += 10) {
    all[i].to = static_cast<TimeNs>(2000 + random() % 1000);
    regions.remove(all[i].base, all[i].to);
    begin(all[i].base, all[i].to + static_cast<TimeNs>(random() % 100));
  }
  const auto oracle = [&](std::uint64_t address, TimeNs time) -> std::uint32_t {
    for (const Known& each : all) {
      const bool there = address >= each.base && address - each.base < each.bytes;
      if (there && time >= each.from && time < each.to) return each.kind;
    }
    return 0;
  };
  std::size_t found = 0, replaced = 0;
  for (TimeNs time = 0; time < 4000; time += 32) {
    // Every other one at a region that ends, so that both sides of its end are asked.
    const std::size_t which = random() % kRegions;
    const Known& near = all[time % 64 == 0 ? which : which - which % 10];
    const std::uint64_t address = near.base + random() % 4096;
    const std::uint32_t kind = kind_at(regions, address, time);
    ASSERT_EQ(kind, oracle(address, time)) << "time " << time;
    found += kind != 0;
    replaced += kind > kRegions;
  }
  EXPECT_GT(found, 30u);
  EXPECT_GT(replaced, 2u);
  regions.advance(5000);
  EXPECT_EQ(regions.live(), kRegions);
  EXPECT_EQ(regions.unmatched() + regions.replaced() + regions.refused(), 0u);
}

// An engine adds many regions, and a profile keeps those that have samples.
TEST(RegionTimeline, TellsTheRegionsThatWereFound) {
  RegionTimeline regions({});
  regions.add(1, 0x1000, 0x100, 10, 77);
  regions.add(2, 0x2000, 0x100, 10, 77);
  regions.add(3, 0x3000, 0x100, 20, 78);
  EXPECT_EQ(kind_at(regions, 0x1010, 30), 1u);
  EXPECT_EQ(kind_at(regions, 0x1020, 31), 1u);
  EXPECT_EQ(kind_at(regions, 0x3000, 32), 3u);
  std::vector<RegionChange> found = regions.take_found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].begins);
  EXPECT_EQ(found[0].region.kind, 1u);
  EXPECT_EQ(found[0].time, 10);
  EXPECT_EQ(found[0].region.tid, 77);
  EXPECT_EQ(found[1].region.kind, 3u);
  // Removed, replaced by one over it, and never found.
  regions.remove(0x1000, 40);
  regions.add(4, 0x2F80, 0x100, 50, 77);
  regions.remove(0x2000, 60);
  regions.advance(100);
  found = regions.take_found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[0].begins);
  EXPECT_EQ(found[0].region.base, 0x1000u);
  EXPECT_EQ(found[0].time, 40);
  EXPECT_EQ(found[1].region.base, 0x3000u);
  EXPECT_EQ(found[1].time, 50);
  EXPECT_TRUE(regions.take_found().empty());
}

}  // namespace
}  // namespace tailor::process
