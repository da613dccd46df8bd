#include "daemon/tailord/damage_log.h"

#include <gtest/gtest.h>

namespace tailor::tailord {
namespace {

using std::chrono::minutes;

class DamageLogTest : public testing::Test {
 protected:
  bool writes(const std::string& text, minutes after = {}) { return log.may(text, start + after); }

  DamageLog log;
  const DamageLog::Clock::time_point start{std::chrono::hours(24)};
};

TEST_F(DamageLogTest, TheSameWordsComeOnceAnHour) {
  EXPECT_TRUE(writes("one"));
  EXPECT_FALSE(writes("one"));
  EXPECT_TRUE(writes("another"));
  EXPECT_FALSE(writes("one", minutes(59)));
  EXPECT_TRUE(writes("one", minutes(60)));
  EXPECT_FALSE(writes("one", minutes(61)));
}

TEST_F(DamageLogTest, ManyTextsAreNotAllWritten) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < 2 * DamageLog::kMostTexts; ++i) count += writes(std::to_string(i)) ? 1 : 0;
  EXPECT_EQ(count, DamageLog::kMostTexts);
  EXPECT_TRUE(writes("later", minutes(60)));
}

}  // namespace
}  // namespace tailor::tailord
