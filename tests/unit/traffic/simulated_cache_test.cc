#include "proto/traffic/simulated_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/traffic/played.h"

namespace tailor::traffic {
namespace {

using ::testing::HasSubstr;

SimulatedCache cache_of(std::uint64_t lines, std::uint32_t ways = 0) {
  Result<SimulatedCache> made = SimulatedCache::make({.lines = lines, .ways = ways}, 4);
  if (!made.ok()) ADD_FAILURE() << made.error().message;
  return std::move(made).value();
}

// The same, as simple as can be.
class SlowCache {
 public:
  SlowCache(std::uint64_t lines, std::uint32_t ways)
      : ways_(ways == 0 ? lines : ways), sets_(ways == 0 ? 1 : lines / ways) {}

  void access(std::uint64_t address, std::uint64_t bytes, std::uint32_t account, bool writes) {
    ++traffic[account].accesses;
    for (std::uint64_t number = address / 64; number <= (address + bytes - 1) / 64; ++number) {
      ++traffic[account].visits;
      std::list<Line>& set = sets_.at(number % sets_.size());
      auto found = std::ranges::find(set, number, &Line::number);
      if (found == set.end()) {
        ++traffic[account].fetched;
        if (set.size() == ways_) {
          if (set.back().is_modified) ++traffic[set.back().owner].written;
          set.pop_back();
        }
        set.push_front({number, 0, false});
      } else {
        set.splice(set.begin(), set, found);
      }
      if (writes) {
        set.front().is_modified = true;
        set.front().owner = account;
      }
    }
  }

  std::vector<SimulatedTraffic> traffic = std::vector<SimulatedTraffic>(4);

 private:
  struct Line {
    std::uint64_t number;
    std::uint32_t owner;
    bool is_modified;
  };
  std::uint64_t ways_;
  std::vector<std::list<Line>> sets_;
};

TEST(SimulatedCache, DoesWhatASlowOneDoes) {
  struct Size {
    std::uint64_t lines;
    std::uint32_t ways;
  };
  for (const Size size : {Size{1, 0}, Size{2, 0}, Size{7, 0}, Size{64, 0}, Size{100, 0}, Size{1, 1},
                          Size{16, 1}, Size{64, 8}, Size{96, 8}, Size{64, 64}}) {
    SimulatedCache cache = cache_of(size.lines, size.ways);
    SlowCache slow(size.lines, size.ways);
    Draws draws(size.lines * 100 + size.ways);
    for (int i = 0; i < 5000; ++i) {
      // Some are near, some far, and some have the same low bits.
      const std::uint64_t address =
          draws.happens(0.5) ? draws.below(9000) : draws.below(300) << (draws.below(2) * 20 + 5);
      const std::uint64_t bytes = 1 + draws.below(draws.happens(0.1) ? 400 : 16);
      const auto account = static_cast<std::uint32_t>(draws.below(4));
      const bool writes = draws.happens(0.4);
      if (writes) {
        cache.write(address, bytes, account);
      } else {
        cache.read(address, bytes, account);
      }
      slow.access(address, bytes, account, writes);
    }
    for (std::uint32_t account = 0; account < 4; ++account)
      EXPECT_EQ(cache.of(account), slow.traffic[account])
          << size.lines << " lines, " << size.ways << " ways, account " << account;
    EXPECT_LE(cache.cached_lines(), size.lines);
  }
}

TEST(SimulatedCache, AWriteBackCountsForTheLastWriter) {
  SimulatedCache cache = cache_of(1);
  cache.write(0, 8, 1);
  cache.write(8, 8, 2);
  cache.read(16, 8, 3);
  cache.read(64, 8, 0);
  EXPECT_EQ(cache.of(1), (SimulatedTraffic{.accesses = 1, .visits = 1, .fetched = 1, .written = 0}));
  EXPECT_EQ(cache.of(2), (SimulatedTraffic{.accesses = 1, .visits = 1, .fetched = 0, .written = 1}));
  EXPECT_EQ(cache.of(3), (SimulatedTraffic{.accesses = 1, .visits = 1, .fetched = 0, .written = 0}));
  EXPECT_EQ(cache.of(0), (SimulatedTraffic{.accesses = 1, .visits = 1, .fetched = 1, .written = 0}));
  EXPECT_EQ(cache.total(), (SimulatedTraffic{.accesses = 4, .visits = 4, .fetched = 2, .written = 1}));
}

TEST(SimulatedCache, FlushesOnce) {
  for (const std::uint32_t ways : {0U, 2U}) {
    SimulatedCache cache = cache_of(4, ways);
    cache.write(0, 130, 1);
    cache.flush();
    EXPECT_EQ(cache.of(1).written, 3U);
    cache.flush();
    EXPECT_EQ(cache.of(1).written, 3U);
    cache.read(0, 130, 2);
    EXPECT_EQ(cache.of(2).fetched, 0U) << "they stay";
  }
}

TEST(SimulatedCache, DiscardsWholeLines) {
  for (const std::uint32_t ways : {0U, 4U}) {
    SimulatedCache cache = cache_of(8, ways);
    cache.write(0, 320, 1);  // lines 0 .. 4
    cache.discard(1, 190);   // 1 .. 190: line 1 alone
    cache.discard(192, 64);  // line 3
    cache.discard(256, 63);  // not all of line 4
    cache.discard(500, 0);
    cache.flush();
    EXPECT_EQ(cache.of(1).written, 3U);
    cache.write(0, 320, 1);
    cache.discard(0, UINT64_MAX);
    cache.flush();
    EXPECT_EQ(cache.of(1).written, 3U) << "a range that is larger than the cache";
  }
}

TEST(SimulatedCache, HostileAccessesAreRefusedOrCut) {
  SimulatedCache cache = cache_of(4);
  cache.read(0, 0, 0);
  EXPECT_EQ(cache.total(), SimulatedTraffic{});
  cache.read(0, 8, 4);
  cache.write(0, UINT64_MAX, 0);
  cache.read(0, SimulatedCache::kMostBytes + 1, 0);
  EXPECT_EQ(cache.refused(), 3U);
  EXPECT_EQ(cache.total(), SimulatedTraffic{});
  cache.write(UINT64_MAX - 7, 100, 1);
  EXPECT_EQ(cache.of(1).visits, 1U) << "nothing lies beyond the last address";
  cache.read(UINT64_MAX, 1, 1);
  EXPECT_EQ(cache.of(1).fetched, 1U);
}

TEST(SimulatedCache, ImpossibleOnesAreRefused) {
  const auto refusal = [](const CacheGeometry& geometry, std::uint32_t accounts) {
    const Result<SimulatedCache> made = SimulatedCache::make(geometry, accounts);
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_THAT(refusal({.line_bytes = 60, .lines = 4}, 1), HasSubstr("power of two"));
  EXPECT_THAT(refusal({.lines = 0}, 1), HasSubstr("0 lines"));
  EXPECT_THAT(refusal({.lines = SimulatedCache::kMostLines + 1}, 1), HasSubstr("lines"));
  EXPECT_THAT(refusal({.lines = 12, .ways = 8}, 1), HasSubstr("multiple"));
  EXPECT_THAT(refusal({.lines = 128, .ways = 128}, 1), HasSubstr("at most 64"));
  EXPECT_THAT(refusal({.lines = 4}, 0), HasSubstr("accounts"));
  EXPECT_THAT(refusal({.lines = 4}, SimulatedCache::kMostAccounts + 1), HasSubstr("accounts"));
}

}  // namespace
}  // namespace tailor::traffic
