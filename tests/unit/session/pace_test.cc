#include "daemon/session/pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tailor::session {
namespace {

TEST(Pace, AnIdleDaemonSleeps) {
  EXPECT_EQ(round_ms({.idle = true}), kIdleRoundMs);
  EXPECT_EQ(round_ms({.idle = true, .awaited = true}), kShortestRoundMs);
  EXPECT_EQ(round_ms({.idle = true, .forgotten = true}), kForgottenRoundMs);
  EXPECT_EQ(round_ms({.idle = true, .forgotten = true, .awaited = true}), kShortestRoundMs);
  EXPECT_EQ(round_ms({.forgotten = true}), kRoundMs) << "somebody has come";
}

// Longer, the more marks there is room for until somebody wakes it.
TEST(Pace, WhereNobodyWorksLogsSayHowLongItSleeps) {
  EXPECT_EQ(round_ms({.quiet = true, .least_log = 16'384}), 512);
  EXPECT_EQ(round_ms({.quiet = true, .least_log = 65'536}), kIdleRoundMs);
  EXPECT_EQ(round_ms({.quiet = true, .least_log = 64}), kRoundMs);
  EXPECT_EQ(round_ms({.quiet = true, .least_log = UINT32_MAX}), kIdleRoundMs);
  EXPECT_EQ(round_ms({.quiet = true, .least_log = 16'384, .awaited = true}), kShortestRoundMs);
}

TEST(Pace, LogsThatFillSlowlyWait) {
  EXPECT_EQ(round_ms({}), kRoundMs);
  EXPECT_EQ(round_ms({.fullest_log = 0.1, .read_after_ms = kRoundMs}), kRoundMs);
}

// However fast they are written: a round that comes three times as late still loses nothing.
TEST(Pace, LogsThatFillFastAreReadBeforeAQuarterOfThemIsWritten) {
  for (double ms_to_fill = 60; ms_to_fill < 2000; ms_to_fill *= 1.1) {
    double round = kRoundMs;
    for (int i = 0; i < 10; ++i) {
      const double filled = std::min(1.0, round / ms_to_fill);
      round = round_ms({.fullest_log = filled, .read_after_ms = round});
    }
    EXPECT_LE(round / ms_to_fill, kFullEnough) << ms_to_fill;
    EXPECT_GE(round, std::min<double>(kRoundMs, ms_to_fill * kFullEnough) - 1) << ms_to_fill;
  }
}

TEST(Pace, NothingIsReadMoreOftenThanItHelps) {
  EXPECT_EQ(round_ms({.fullest_log = 1, .read_after_ms = 10}), kShortestRoundMs);
  EXPECT_EQ(round_ms({.fullest_log = 1, .read_after_ms = 0}), kShortestRoundMs);
}

}  // namespace
}  // namespace tailor::session
