#include "daemon/session/flushes.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

class FlushesTest : public testing::Test {
 protected:
  void take(TimeNs now, TimeNs here) {
    const auto due = flushes.take_due(
        now, [here](TimeNs time) { return time <= here; }, [this](TimeNs time) { flushed.push_back(time); });
    for (const auto& each : due) each();
  }

  Flushes flushes;
  std::vector<TimeNs> flushed;
  std::vector<int> done;
};

TEST_F(FlushesTest, AreDoneWhenEverythingBeforeThemIsHere) {
  flushes.add(100, [this] { done.push_back(1); });
  flushes.add(200, [this] { done.push_back(2); });
  take(210, 99);
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(flushed.empty());
  take(220, 100);
  EXPECT_EQ(done, (std::vector<int>{1}));
  EXPECT_EQ(flushed, (std::vector<TimeNs>{100}));
  take(230, 500);
  take(240, 500);
  EXPECT_EQ(done, (std::vector<int>{1, 2}));
  EXPECT_EQ(flushed, (std::vector<TimeNs>{100, 200}));
}

TEST_F(FlushesTest, LosePatience) {
  flushes.add(100, [this] { done.push_back(1); });
  take(99 + Flushes::kPatience, 0);
  EXPECT_TRUE(done.empty());
  take(100 + Flushes::kPatience, 0);
  EXPECT_EQ(done, (std::vector<int>{1}));
  EXPECT_EQ(flushed, (std::vector<TimeNs>{100}));
}

}  // namespace
}  // namespace tailor::session
