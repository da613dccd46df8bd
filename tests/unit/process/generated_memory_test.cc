#include "daemon/process/generated_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <ranges>
#include <set>

namespace tailor::process {
namespace {

TEST(GeneratedMemory, IsExecutableMemoryOfNoFile) {
  GeneratedMemory memory;
  EXPECT_FALSE(memory.holds(0x1000)) << "nothing is known";
  memory.add(0x1000, 0x2000);
  EXPECT_TRUE(memory.holds(0x1000));
  EXPECT_TRUE(memory.holds(0x2FFF));
  EXPECT_FALSE(memory.holds(0x0FFF));
  EXPECT_FALSE(memory.holds(0x3000));
  memory.clear();
  EXPECT_FALSE(memory.holds(0x1000)) << "another program";
}

// A program that moves its text to huge pages, and a library that was there or comes there.
TEST(GeneratedMemory, WhatEverWasAFilesCodeIsNone) {
  GeneratedMemory memory;
  memory.add_file(0x1000, 0x1000);
  memory.add(0x1000, 0x2000);
  EXPECT_FALSE(memory.holds(0x1800));
  EXPECT_TRUE(memory.holds(0x2800));
  memory.add_file(0x2000, 0x1000);
  EXPECT_FALSE(memory.holds(0x2800));
}

TEST(GeneratedMemory, ImpossibleRangesAreIgnored) {
  GeneratedMemory memory;
  memory.add(0x1000, 0);
  memory.add(UINT64_MAX - 5, 0x1000);
  EXPECT_FALSE(memory.holds(0x1000));
  EXPECT_FALSE(memory.holds(UINT64_MAX - 1));
  EXPECT_FALSE(memory.holds(UINT64_MAX));
}

// Beyond the bounds nothing is known, rather than something wrong.
TEST(GeneratedMemory, IsBounded) {
  GeneratedMemory memory(2);
  memory.add(0x1000, 0x1000);
  memory.add(0x3000, 0x1000);
  memory.add(0x2000, 0x1000);  // fills the hole: one range
  memory.add(0x9000, 0x1000);
  EXPECT_TRUE(memory.holds(0x1000) && memory.holds(0x9000));
  memory.add(0x20000, 0x1000);
  EXPECT_FALSE(memory.holds(0x1000));
  memory.add(0x1000, 0x1000);
  EXPECT_FALSE(memory.holds(0x1000)) << "what came before is not known any more";
  memory.clear();
  memory.add(0x1000, 0x1000);
  EXPECT_TRUE(memory.holds(0x1000));
}

TEST(GeneratedMemory, ACopySharesUntilOneOfBothChanges) {
  FileBudget budget{.most = 100};
  {
    GeneratedMemory parent(GeneratedMemory::kMostRanges, &budget);
    parent.add(0x1000, 0x1000);
    parent.add(0x3000, 0x1000);
    const std::size_t held = budget.held;
    EXPECT_GT(held, 0u);
    GeneratedMemory child = parent;
    child.add(0x1000, 0x1000);  // nothing new
    EXPECT_EQ(budget.held, held);
    child.add(0x5000, 0x1000);
    EXPECT_GT(budget.held, held);
    EXPECT_TRUE(child.holds(0x5000));
    EXPECT_FALSE(parent.holds(0x5000));
    GeneratedMemory second = parent;
    second.add(0x7000, 0x1000);  // there is no room for a copy
    EXPECT_FALSE(second.holds(0x1000) || second.holds(0x7000));
    EXPECT_TRUE(parent.holds(0x1000) && child.holds(0x1000));
  }
  EXPECT_EQ(budget.held, 0u);
}

// Against a set of pages.
TEST(AddressSet, HoldsWhatWasAdded) {
  std::mt19937_64 random(7);
  AddressSet set;
  std::set<std::uint64_t> pages;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t first = random() % 2000, last = first + 1 + random() % 5;
    const bool was_there = std::ranges::all_of(std::views::iota(first, last),
                                               [&](std::uint64_t page) { return pages.contains(page); });
    EXPECT_EQ(set.covers(first, last), was_there);
    set.add(first, last);
    for (std::uint64_t page = first; page < last; ++page) pages.insert(page);
    EXPECT_TRUE(set.covers(first, last));
  }
  std::size_t ranges = 0;
  for (std::uint64_t page = 0; page < 2100; ++page) {
    EXPECT_EQ(set.holds(page), pages.contains(page)) << page;
    ranges += pages.contains(page) && !pages.contains(page - 1);
  }
  EXPECT_EQ(set.size(), ranges);
}

}  // namespace
}  // namespace tailor::process
