// Since when code can have been where the JVM, late, says it is.
#include "agent/jvm/code_cache.h"

#include <gtest/gtest.h>

namespace tailor::jvm {
namespace {

constexpr std::uint64_t kStart = 1000;

TEST(CodeCacheMap, CodeIsThereSinceItsPlaceWasFreed) {
  CodeCacheMap cache(kStart);
  EXPECT_EQ(cache.add(0x100, 0x100, 1).since, kStart);
  ASSERT_TRUE(cache.remove(0x100, 2000));
  EXPECT_EQ(cache.add(0x100, 0x80, 2).since, 2000u);
  EXPECT_EQ(cache.add(0x180, 0x80, 3).since, 2000u) << "the rest of what was freed";
  EXPECT_EQ(cache.add(0x200, 0x80, 4).since, kStart) << "nothing was here before";
  EXPECT_EQ(cache.freed(), 0u) << "what is used again is forgotten";
}

TEST(CodeCacheMap, TheLatestOfSeveralCounts) {
  CodeCacheMap cache(kStart);
  cache.add(0x100, 0x100, 1);
  cache.add(0x200, 0x100, 2);
  cache.remove(0x200, 3000);
  cache.remove(0x100, 2000);
  EXPECT_EQ(cache.add(0x180, 0x100, 3).since, 3000u);
  // Both ends are still free, each since its own time.
  EXPECT_EQ(cache.add(0x100, 0x80, 4).since, 2000u);
  EXPECT_EQ(cache.add(0x280, 0x80, 5).since, 3000u);
}

TEST(CodeCacheMap, OneFreedPieceHasRoomForSeveral) {
  CodeCacheMap cache(kStart);
  cache.add(0x1000, 0x1000, 1);
  cache.remove(0x1000, 2000);
  EXPECT_EQ(cache.add(0x1400, 0x100, 2).since, 2000u);
  EXPECT_EQ(cache.freed(), 2u);
  EXPECT_EQ(cache.add(0x1000, 0x100, 3).since, 2000u);
  EXPECT_EQ(cache.add(0x1F00, 0x100, 4).since, 2000u);
}

TEST(CodeCacheMap, WhatIsFreedAgainWasFreedThen) {
  CodeCacheMap cache(kStart);
  for (std::uint64_t time = 2000; time < 2100; ++time) {
    cache.add(0x100, 0x100, time);
    ASSERT_TRUE(cache.remove(0x100, time));
    EXPECT_LE(cache.freed(), 1u);
  }
  EXPECT_EQ(cache.add(0x100, 0x10, 1).since, 2099u);
}

TEST(CodeCacheMap, TellsWhetherTheAgentKnewIt) {
  CodeCacheMap cache(kStart);
  EXPECT_FALSE(cache.remove(0x100, 1)) << "never loaded";
  cache.add(0x100, 0x100, 7);
  EXPECT_FALSE(cache.mark_sent(0x100, 8));
  EXPECT_TRUE(cache.mark_sent(0x100, 7));
  const auto replaced = cache.add(0x100, 0x40, 9).replaced;
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->id, 7u);
  EXPECT_TRUE(replaced->sent);
  const auto gone = cache.remove(0x100, 5000);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->id, 9u);
  EXPECT_FALSE(gone->sent);
}

}  // namespace
}  // namespace tailor::jvm
