#include "daemon/process/memory_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tailor::process {
namespace {

constexpr std::uint64_t kPage = 4096;

NewMapping writable(std::uint64_t begin, std::uint64_t size, std::string_view name = "//anon") {
  return {begin, size, true, true, false, false, name};
}

class MemoryMapTest : public testing::Test {
 protected:
  std::string at(std::uint64_t address, std::uint64_t stack = 0) const {
    const auto found = map_.find(address, stack);
    return found.known ? std::string(name_of(found.area)) : "unknown";
  }
  MemoryMap map_{1000};
};

TEST_F(MemoryMapTest, SaysWhatMemoryIsByItsMapping) {
  map_.map({0x10000, kPage, true, false, true, false, "/bin/engine"});
  map_.map({0x20000, kPage, true, false, false, false, "/bin/engine"});
  map_.map(writable(0x30000, kPage, "/bin/engine"));
  map_.map(writable(0x30000 + kPage, kPage));
  map_.map(writable(0x40000, kPage, "[heap]"));
  map_.map(writable(0x50000, kPage, "[stack]"));
  map_.map({0x60000, kPage, true, true, false, true, "/dev/shm/pages"});
  map_.map(writable(0x70000, kPage));
  EXPECT_EQ(at(0x10000), "code");
  EXPECT_EQ(at(0x20FFF), "constants");
  EXPECT_EQ(at(0x30000), "static data");
  EXPECT_EQ(at(0x30000 + kPage), "static data") << "what a file leaves out because it is zero";
  EXPECT_EQ(at(0x40000), "other heap");
  EXPECT_EQ(at(0x50000), "stack");
  EXPECT_EQ(at(0x60000), "shared memory");
  EXPECT_EQ(at(0x70000), "other heap");
  EXPECT_EQ(at(0x71000), "unknown");
  EXPECT_EQ(at(0), "unknown");
}

TEST_F(MemoryMapTest, AThreadsStackIsWhatItsPointerIsIn) {
  constexpr std::uint64_t kBase = 0x100000000;
  map_.map(writable(kBase, 2 * MemoryMap::kStackReach));
  map_.map(writable(2 * kBase, kPage));
  const std::uint64_t pointer = kBase + kPage;
  EXPECT_EQ(at(pointer, pointer), "stack");
  EXPECT_EQ(at(pointer - MemoryMap::kRedZone, pointer), "stack");
  EXPECT_EQ(at(pointer - MemoryMap::kRedZone - 1, pointer), "other heap");
  EXPECT_EQ(at(pointer + MemoryMap::kStackReach, pointer), "other heap") << "a heap may lie behind it";
  EXPECT_EQ(at(2 * kBase, pointer), "other heap") << "another mapping";
  EXPECT_EQ(at(pointer, 0), "other heap") << "the pointer was not sampled";
}

TEST_F(MemoryMapTest, WhatIsMappedTakesThePlaceOfWhatWasThere) {
  map_.map(writable(0x10000, 10 * kPage));
  map_.map({0x10000 + 4 * kPage, 2 * kPage, true, false, true, false, ""});
  EXPECT_EQ(at(0x10000 + 4 * kPage - 1), "other heap");
  EXPECT_EQ(at(0x10000 + 4 * kPage), "code");
  EXPECT_EQ(at(0x10000 + 6 * kPage), "other heap");
  EXPECT_EQ(map_.size(), 3u);
  map_.map({0x10000 + 5 * kPage, 9 * kPage, false, false, false, false, ""});
  EXPECT_EQ(at(0x10000 + 5 * kPage), "unknown") << "nobody can access it";
  EXPECT_EQ(at(0x10000 + 9 * kPage), "unknown");
  EXPECT_EQ(at(0x10000 + 4 * kPage), "code");
  map_.clear();
  EXPECT_EQ(at(0x10000), "unknown");
}

// Bounded whatever a process maps, and the same as a list of bytes says.
TEST_F(MemoryMapTest, ManyMappingsStayBounded) {
  std::mt19937 random(3);
  MemoryMap map(50);
  for (int i = 0; i < 20000; ++i) {
    map.map(writable(random() % 1000 * kPage, random() % 5 * kPage + (i % 3 == 0 ? 600 * kPage : 0)));
    ASSERT_LE(map.size(), 50u);
  }
  map.map(writable(UINT64_MAX - kPage, 2 * kPage));
  EXPECT_FALSE(map.find(UINT64_MAX, 0).known) << "it wraps around";
}

TEST_F(MemoryMapTest, IsWhatWasMappedLastAtEveryAddress) {
  std::mt19937 random(5);
  std::vector<char> truth(64, ' ');
  for (int i = 0; i < 3000; ++i) {
    const std::size_t begin = random() % 60, size = 1 + random() % 4;
    const bool code = random() % 2 == 0, nothing = random() % 4 == 0;
    map_.map({begin * kPage, size * kPage, !nothing, !nothing && !code, !nothing && code, false, "//anon"});
    for (std::size_t at = begin; at < begin + size; ++at) truth[at] = nothing ? ' ' : code ? 'c' : 'h';
    for (std::size_t page = 0; page < truth.size(); ++page) {
      const std::string expected = truth[page] == ' '   ? "unknown"
                                   : truth[page] == 'c' ? "code"
                                                        : "other heap";
      ASSERT_EQ(at(page * kPage + 17), expected);
    }
  }
}

// 100,000 forks of a process with 10,000 mappings: a copy for each would be 60 GB.
TEST(MemoryMaps, AForkSharesItsParentsMapUntilOneChangesIt) {
  MapBudget budget;
  MemoryMap parent(1000, &budget);
  for (std::uint64_t i = 1; i <= 100; ++i) parent.map(writable(i << 20, kPage, "[heap]"));
  std::vector<MemoryMap> children;
  for (int i = 0; i < 1000; ++i) children.emplace_back(1000, &budget) = parent;
  EXPECT_EQ(budget.held, 100u);
  children[0].map(writable(0x7000, kPage, "[stack]"));
  EXPECT_EQ(budget.held, 201u);
  EXPECT_EQ(children[0].find(0x7000, 0).area, MemoryArea::kStack);
  EXPECT_FALSE(parent.find(0x7000, 0).known);
  EXPECT_TRUE(children[1].find(5 << 20, 0).known);
  parent.map({5 << 20, kPage, false, false, false, false, "//anon"});
  EXPECT_FALSE(parent.find(5 << 20, 0).known);
  EXPECT_TRUE(children[1].find(5 << 20, 0).known) << "it was forked before";
  children[2].clear();
  EXPECT_FALSE(children[2].find(5 << 20, 0).known);
  EXPECT_TRUE(children[3].find(5 << 20, 0).known);
  children.clear();
  EXPECT_EQ(budget.held, parent.size());
}

TEST(MemoryMaps, AllTogetherHoldNoMoreThanTheirBudget) {
  MapBudget budget{.most = 250};
  MemoryMap parent(1000, &budget);
  for (std::uint64_t i = 1; i <= 100; ++i) parent.map(writable(i << 20, kPage, "[heap]"));
  std::vector<MemoryMap> children(50, parent);
  for (MemoryMap& child : children) child.map(writable(0x7000, kPage, "[stack]"));
  EXPECT_LE(budget.held, 250u);
  EXPECT_TRUE(children.front().find(5 << 20, 0).known);
  EXPECT_FALSE(children.back().find(5 << 20, 0).known) << "there was no room for a copy: not known";
  EXPECT_GT(children.back().refused(), 0u);
}

}  // namespace
}  // namespace tailor::process
