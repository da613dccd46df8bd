#include "daemon/bpf/clock_pair.h"

#include <gtest/gtest.h>

namespace tailor::bpf {
namespace {

TEST(ClockPair, TheLineIsExactAtItsEndsAndBetween) {
  // 500 ppm apart over 50 ms, far from zero, where doubles would be too coarse for the times themselves.
  const ClockPair first{4'000'000'000'000'000'000, 4'000'000'000'123'456'789};
  const ClockPair second{first.monotonic + 50'000'000, first.raw + 50'025'000};
  EXPECT_EQ(to_raw(first, second, first.monotonic), first.raw);
  EXPECT_EQ(to_raw(first, second, second.monotonic), second.raw);
  EXPECT_EQ(to_raw(first, second, first.monotonic + 10'000'000), first.raw + 10'005'000);
  EXPECT_EQ(to_raw(first, second, second.monotonic + 10'000'000), second.raw + 10'005'000);
}

TEST(ClockPair, PairsTooCloseForARateShiftOnly) {
  const ClockPair first{1000, 5000};
  const ClockPair second{2000, 6100};
  EXPECT_EQ(to_raw(first, second, 2500), 6600);
}

TEST(ClockPair, TheHostsClocksGoOn) {
  const ClockPair first = read_clock_pair();
  const ClockPair second = read_clock_pair();
  EXPECT_LT(first.monotonic, second.monotonic);
  EXPECT_LT(first.raw, second.raw);
}

}  // namespace
}  // namespace tailor::bpf
