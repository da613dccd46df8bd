#include "daemon/session/wall_clock.h"

#include <gtest/gtest.h>

#include "tests/support/fake_os.h"

namespace tailor::session {
namespace {

constexpr TimeNs kOneSecond = 1'000'000'000;
constexpr TimeNs kStart = 500 * kOneSecond;
constexpr TimeNs kWallAtStart = 1'700'000'000 * kOneSecond;

class WallClockTest : public testing::Test {
 protected:
  // Looks so long after the start of the recording, where the time of day is off by `step`.
  std::optional<std::uint64_t> look(TimeNs since, TimeNs step, std::uint64_t known = kWallAtStart) {
    os.time = kStart + since;
    os.wall_time = kWallAtStart + since + step;
    return clock.look(kStart, known);
  }
  test::FakeOs os;
  WallClock clock{os};
};

TEST_F(WallClockTest, AClockThatNobodySetIsNoNews) {
  for (TimeNs second = 0; second < 10; ++second) EXPECT_EQ(look(second * kOneSecond, 0), std::nullopt);
}

TEST_F(WallClockTest, AStepIsNewsBothWays) {
  EXPECT_EQ(look(kOneSecond, 3600 * kOneSecond),
            std::optional<std::uint64_t>(kWallAtStart + 3600 * kOneSecond));
  EXPECT_EQ(look(2 * kOneSecond, -3600 * kOneSecond),
            std::optional<std::uint64_t>(kWallAtStart - 3600 * kOneSecond));
  // A recording that knows it already is told nothing.
  EXPECT_EQ(look(3 * kOneSecond, -3600 * kOneSecond, kWallAtStart - 3600 * kOneSecond), std::nullopt);
}

TEST_F(WallClockTest, ItDriftsUntilItMatters) {
  EXPECT_EQ(look(kOneSecond, 9'000'000), std::nullopt);
  EXPECT_EQ(look(2 * kOneSecond, 11'000'000), std::optional<std::uint64_t>(kWallAtStart + 11'000'000));
}

TEST_F(WallClockTest, LooksOnceASecond) {
  EXPECT_EQ(look(0, 0), std::nullopt);
  EXPECT_EQ(look(kOneSecond - 1, 3600 * kOneSecond), std::nullopt);
  EXPECT_NE(look(kOneSecond, 3600 * kOneSecond), std::nullopt);
}

TEST_F(WallClockTest, ATimeBeforeThereWasOneIsNotTaken) {
  EXPECT_EQ(look(kOneSecond, -kWallAtStart - 2 * kOneSecond), std::nullopt);
}

}  // namespace
}  // namespace tailor::session
