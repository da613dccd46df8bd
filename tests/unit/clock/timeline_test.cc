#include "daemon/clock/timeline.h"

#include <gtest/gtest.h>

#include "daemon/clock/growing_times.h"

namespace tailor::clock {
namespace {

Conversion piece(std::uint64_t from, TimeNs base, std::uint64_t mult = 1) {
  return {.from_tsc = from, .base_ns = base, .mult = mult, .shift = 0};
}

TEST(Timeline, EmptyKnowsNothing) {
  Timeline t;
  EXPECT_EQ(t.to_ns(5), kTimeMin);
  EXPECT_EQ(t.to_tsc(5), 0u);
  EXPECT_EQ(t.error_bound_ns(5), UINT64_MAX);
}

TEST(Timeline, EachPieceHoldsFromItsBeginning) {
  Timeline t;
  ASSERT_TRUE(t.append(piece(100, 1000)).ok());
  ASSERT_TRUE(t.append(piece(200, 1200, 2)).ok());
  EXPECT_EQ(t.to_ns(50), 950);
  EXPECT_EQ(t.to_ns(199), 1099);
  EXPECT_EQ(t.to_ns(200), 1200);
  EXPECT_EQ(t.to_ns(201), 1202);
  EXPECT_EQ(t.to_tsc(1050), 150u);
  EXPECT_EQ(t.to_tsc(1150), 199u);  // inside the step forward
  EXPECT_EQ(t.to_tsc(1203), 201u);
}

TEST(Timeline, ReplacesWhatWasPlannedForLater) {
  Timeline t;
  ASSERT_TRUE(t.append(piece(100, 1000)).ok());
  ASSERT_TRUE(t.append(piece(300, 1300)).ok());
  ASSERT_TRUE(t.append(piece(200, 1100)).ok());
  ASSERT_EQ(t.pieces().size(), 2u);
  EXPECT_EQ(t.to_ns(300), 1200);
}

TEST(Timeline, RefusesToRunBackward) {
  Timeline t;
  ASSERT_TRUE(t.append(piece(100, 1000)).ok());
  EXPECT_FALSE(t.append(piece(200, 1099)).ok());
  EXPECT_EQ(t.pieces().size(), 1u);
}

TEST(Timeline, RefusesShiftsThatWouldBeUndefined) {
  Timeline t;
  Conversion c = piece(1, 1);
  c.shift = 64;
  EXPECT_FALSE(t.append(c).ok());
  EXPECT_FALSE(t.restart(c).ok());
  EXPECT_TRUE(t.empty());
}

TEST(Timeline, TimesThatGrowAreThoseOfTheTimeline) {
  Timeline t;
  EXPECT_EQ(GrowingTimes(t).to_ns(5), kTimeMin);
  ASSERT_TRUE(t.append(piece(100, 1000)).ok());
  ASSERT_TRUE(t.append(piece(200, 1150)).ok());
  ASSERT_TRUE(t.append(piece(300, 1400)).ok());
  GrowingTimes times(t);
  for (std::uint64_t tsc = 50; tsc < 400; ++tsc) EXPECT_EQ(times.to_ns(tsc), t.to_ns(tsc)) << tsc;
  for (const std::uint64_t tsc : {350u, 150u, 250u, 20u, 299u})
    EXPECT_EQ(times.to_ns(tsc), t.to_ns(tsc)) << tsc;
  EXPECT_EQ(times.to_ns(UINT64_MAX), t.to_ns(UINT64_MAX));
}

TEST(Timeline, KeepsABoundedNumber) {
  Timeline t;
  for (std::uint64_t i = 0; i < Timeline::kKept + 10; ++i) {
    ASSERT_TRUE(t.append(piece(i, static_cast<TimeNs>(i))).ok());
  }
  EXPECT_EQ(t.pieces().size(), Timeline::kKept);
  EXPECT_EQ(t.to_ns(3), 3);
}

}  // namespace
}  // namespace tailor::clock
