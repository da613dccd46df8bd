#include "daemon/tailord/log_limiter.h"

#include <gtest/gtest.h>

namespace tailor::tailord {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LogLimiterTest : public testing::Test {
 protected:
  // How many of these lines are written, all of them about `source` and at one time.
  int written(std::int64_t source, int lines, LogLimiter::Clock::duration after = {}) {
    int count = 0;
    for (int i = 0; i < lines; ++i) count += limiter.may(source, start + after, suppressed) ? 1 : 0;
    return count;
  }

  LogLimiter limiter;
  std::uint64_t suppressed = 0;
  const LogLimiter::Clock::time_point start{std::chrono::hours(24)};
};

TEST_F(LogLimiterTest, AFewAtOnceAndThenOneASecond) {
  EXPECT_EQ(written(1, 1000), 10);
  EXPECT_EQ(written(1, 1000, milliseconds(999)), 0);
  EXPECT_EQ(written(1, 1000, milliseconds(1001)), 1);
  EXPECT_EQ(written(1, 1000, milliseconds(4500)), 3);
}

TEST_F(LogLimiterTest, WhoIsSilentForLongMaySayAFewAgainAndNoMore) {
  written(1, 1000);
  EXPECT_EQ(written(1, 1000, seconds(3600)), 10);
}

TEST_F(LogLimiterTest, TheNextLineSaysHowManyWereNotWritten) {
  EXPECT_EQ(written(1, 10), 10);
  EXPECT_EQ(suppressed, 0u);
  written(1, 33);
  written(2, 20);
  EXPECT_TRUE(limiter.may(1, start + seconds(2), suppressed));
  EXPECT_EQ(suppressed, 33u) << "of this source alone";
  EXPECT_TRUE(limiter.may(1, start + seconds(4), suppressed));
  EXPECT_EQ(suppressed, 0u) << "and once";
}

TEST_F(LogLimiterTest, OneSourceDoesNotTakeTheLinesOfAnother) {
  written(1, 1000);
  EXPECT_EQ(written(2, 1000), 10);
}

TEST_F(LogLimiterTest, ManySourcesTogetherAreLimitedToo) {
  int all = 0;
  for (int source = 1; source <= 500; ++source) all += written(source, 10);
  EXPECT_EQ(all, 100);
  all = 0;
  for (int source = 1; source <= 500; ++source) all += written(source, 10, seconds(2));
  EXPECT_EQ(all, 20);
}

TEST_F(LogLimiterTest, SourcesWithoutEndShareOnePlace) {
  // Each of them says one line, in a time in which none of them is forgotten.
  for (int source = 1; source <= 20'000; ++source) limiter.may(source, start, suppressed);
  // The sources that are known took their lines; those beyond share one place, that has one line a second.
  EXPECT_EQ(written(2'000'000, 1000, milliseconds(1500)), 1);
  // A silent source makes room.
  EXPECT_EQ(written(2'000'001, 1000, seconds(20)), 10);
}

TEST_F(LogLimiterTest, AClockThatStandsStillOrGoesBackGivesNothing) {
  written(1, 1000, seconds(10));
  EXPECT_EQ(written(1, 1000, seconds(10)), 0);
  EXPECT_EQ(written(1, 1000, seconds(2)), 0);
}

}  // namespace
}  // namespace tailor::tailord
