#include "daemon/session/pauses.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

constexpr ProcessId kOne{10, 1}, kTwo{20, 1};

TEST(Pauses, SayFromWhenToWhen) {
  Pauses pauses;
  pauses.begin(kOne, 100);
  pauses.begin(kOne, 150);  // it is paused already
  EXPECT_TRUE(pauses.is_paused(kOne));
  EXPECT_EQ(pauses.since(kOne), 100);
  EXPECT_EQ(pauses.ns_of(kOne, 180), 80u);
  pauses.end(kTwo, 190);  // it is not paused
  pauses.end(kOne, 200);
  EXPECT_FALSE(pauses.is_paused(kOne));
  EXPECT_EQ(pauses.since(kOne), kTimeMax);
  pauses.begin(kOne, 300);
  pauses.end(kOne, 350);
  EXPECT_EQ(pauses.ns_of(kOne, 1000), 150u);
  ASSERT_EQ(pauses.list().size(), 2u);
  EXPECT_EQ(pauses.list()[0].from, 100);
  EXPECT_EQ(pauses.list()[0].to, 200);
}

TEST(Pauses, AreInTheOrderOfTheirBegin) {
  Pauses pauses;
  pauses.begin(kOne, 300);
  pauses.begin(kTwo, 100);  // its rings were read later
  EXPECT_EQ(pauses.list()[0].process, kTwo);
  EXPECT_EQ(pauses.list()[1].process, kOne);
}

TEST(Pauses, KeepTheNewestAndAllThatGoOn) {
  Pauses pauses;
  pauses.begin(kTwo, 1);
  for (TimeNs i = 0; i < 1000; ++i) {
    pauses.begin(kOne, 10 + 10 * i);
    pauses.end(kOne, 15 + 10 * i);
  }
  EXPECT_LE(pauses.list().size(), Pauses::kMostOver + 1);
  EXPECT_EQ(pauses.list().front().process, kTwo);
  EXPECT_EQ(pauses.list().back().from, 10 + 10 * 999);
  EXPECT_TRUE(pauses.is_paused(kTwo));
}

TEST(Pauses, NoneEndsBeforeItBegins) {
  Pauses pauses;
  pauses.begin(kOne, 100);
  pauses.end(kOne, 50);
  EXPECT_EQ(pauses.list().front().to, 100);
  EXPECT_EQ(pauses.ns_of(kOne, 1000), 0u);
}

}  // namespace
}  // namespace tailor::session
