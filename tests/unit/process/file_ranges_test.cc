#include "daemon/process/file_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tailor::process {
namespace {

TEST(FileRanges, OnlyWhatChangesAFileIsAChange) {
  FileRanges files;
  EXPECT_TRUE(files.map({0x1000, 0x3000, 0x5000, "/a", ""}));
  EXPECT_FALSE(files.map({0x2000, 0x1000, 0x6000, "/a", ""})) << "a page of it";
  EXPECT_FALSE(files.map({0x1000, 0x3000, 0x5000, "/a", ""}));
  EXPECT_TRUE(files.map({0x2000, 0x1000, 0x5000, "/a", ""})) << "another offset";
  EXPECT_EQ(files.size(), 3u);
  EXPECT_FALSE(files.map({0x3000, 0x1000, 0x7000, "/a", ""})) << "what is left of the first";
  EXPECT_TRUE(files.map({0x3000, 0x1000, 0x7000, "/a", "1234"})) << "another file of that name";
  EXPECT_FALSE(files.map({0, 0, 0, "/a", ""}));
  EXPECT_FALSE(files.map({UINT64_MAX - 5, 0x1000, 0, "/a", ""}));
}

TEST(FileRanges, OthersAreThePartsWhereSomethingElseLies) {
  using Parts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  FileRanges files;
  files.map({0x1000, 0x1000, 0x5000, "/a", "12"});
  files.map({0x3000, 0x1000, 0x7000, "/b", ""});
  EXPECT_EQ(files.others({0x1000, 0x1000, 0x5000, "/a", "12"}), Parts{});
  EXPECT_EQ(files.others({0x1000, 0x1000, 0x5000, "/a", ""}), Parts{}) << "its id is not known there";
  EXPECT_EQ(files.others({0x1000, 0x1000, 0x5000, "/a", "34"}), (Parts{{0x1000, 0x2000}}));
  EXPECT_EQ(files.others({0x1000, 0x1000, 0x6000, "/a", "12"}), (Parts{{0x1000, 0x2000}}));
  EXPECT_EQ(files.others({0x1800, 0x1800, 0x5800, "/a", "12"}), (Parts{{0x2000, 0x3000}}))
      << "merged with its neighbour";
  EXPECT_EQ(files.others({0, 0x8000, 0x4000, "/a", "12"}), (Parts{{0, 0x1000}, {0x2000, 0x8000}}));
}

TEST(FileRanges, MemoryOfNoFileEndsThemOnce) {
  FileRanges files;
  files.map({0x1000, 0x3000, 0, "/a", ""});
  EXPECT_TRUE(files.unmap(0x2000, 0x1000));
  EXPECT_FALSE(files.unmap(0x2000, 0x1000));
  EXPECT_TRUE(files.unmap(0x2000, 0x1001));
  EXPECT_FALSE(files.unmap(0x8000, 0x1000));
  EXPECT_TRUE(files.unmap(0, UINT64_MAX));
  EXPECT_EQ(files.size(), 0u);
}

TEST(FileRanges, SayWhatLiesAtAnAddress) {
  FileRanges files;
  files.map({0x1000, 0x1000, 0x5000, "/a", "12"});
  EXPECT_FALSE(files.at(0xfff));
  EXPECT_FALSE(files.at(0x2000));
  const auto found = files.at(0x1fff);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "/a");
  EXPECT_EQ(found->build_id, "12");
  EXPECT_EQ(found->offset, 0x5fffu);
}

// A child shares its parent's; where there is no room nothing is known, rather than something wrong.
TEST(FileRanges, AreBoundedAndSharedUntilTheyChange) {
  FileBudget budget{.most = 10'000};
  FileRanges parent(20, &budget);
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(parent.map({i << 12, 0x1000, 0, "/a", ""}));
  EXPECT_FALSE(parent.overflowed());
  const std::size_t of_one = budget.held;
  EXPECT_GT(of_one, 20u * 48);
  {
    std::vector<FileRanges> children(100, parent);
    EXPECT_EQ(budget.held, of_one);
    for (FileRanges& each : children) {
      EXPECT_TRUE(each.unmap(0x1000, 0x1000));
      EXPECT_LE(budget.held, budget.most);
    }
    EXPECT_EQ(children.front().size(), 19u);
    EXPECT_TRUE(children.back().overflowed());
    EXPECT_EQ(children.back().size(), 0u);
    EXPECT_EQ(parent.size(), 20u);
  }
  EXPECT_EQ(budget.held, of_one);
  EXPECT_TRUE(parent.map({21 << 12, 0x1000, 0, "/a", ""}));
  EXPECT_TRUE(parent.overflowed());
  EXPECT_FALSE(parent.map({22 << 12, 0x1000, 0, "/a", ""})) << "until it is cleared";
  EXPECT_EQ(budget.held, 0u);
  parent.clear();
  EXPECT_TRUE(parent.map({22 << 12, 0x1000, 0, "/a", ""}));
}

TEST(FileRanges, ALookEndsWhatItDoesNotSee) {
  FileRanges files;
  files.map({0x1000, 0x1000, 0, "/a", ""});
  files.map({0x3000, 0x2000, 0, "/b", ""});
  const auto gone = files.keep_only({{0x1000, 0x1000, 0, "/a", ""}, {0x3000, 0x1000, 0, "/b", ""}});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], (std::pair<std::uint64_t, std::uint64_t>{0x4000, 0x1000}));
  EXPECT_FALSE(files.unmap(0x4000, 0x1000));
}

// Page by page, whatever overlaps or is empty.
TEST(FileRanges, ALookEndsWhatItDoesNotSeeWhateverItSees) {
  constexpr std::uint64_t kPages = 40;
  std::mt19937_64 random(7);
  const auto some = [&](std::uint64_t most) { return random() % (most + 1); };
  const auto file = [&] { return FileRanges::File{some(kPages), some(5), 0, "/a", ""}; };
  for (int round = 0; round < 2000; ++round) {
    FileRanges files;
    std::set<std::uint64_t> expected, gone;
    for (std::uint64_t i = some(6); i > 0; --i) files.map(file());
    std::vector<FileRanges::File> seen(some(6));
    for (FileRanges::File& each : seen) each = file();
    for (std::uint64_t page = 0; page < kPages + 5; ++page) {
      const auto holds = [&](const FileRanges::File& each) {
        return each.begin <= page && page < each.begin + each.size;
      };
      if (files.at(page) && std::ranges::none_of(seen, holds)) expected.insert(page);
    }
    for (const auto& [begin, size] : files.keep_only(seen)) {
      for (std::uint64_t page = begin; page < begin + size; ++page) EXPECT_TRUE(gone.insert(page).second);
    }
    ASSERT_EQ(gone, expected);
    for (const std::uint64_t page : gone) EXPECT_FALSE(files.at(page));
  }
}

TEST(FileRanges, WhatACopySharesIsNotFreedWithIt) {
  FileRanges parent;
  parent.map({0x1000, 0x1000, 0, "/a", ""});
  EXPECT_EQ(parent.own_size(), 1u);
  const FileRanges child = parent;
  EXPECT_EQ(parent.own_size(), 0u);
  EXPECT_EQ(child.own_size(), 0u);
}

}  // namespace
}  // namespace tailor::process
