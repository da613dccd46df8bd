#include "daemon/session/step_clock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/fake_os.h"

namespace tailor::session {
namespace {

constexpr TimeNs kMs = 1'000'000;

class StepClockTest : public testing::Test {
 protected:
  // As the kernel counts it, since the thread began.
  void stood_in_queue(TimeNs ns) {
    queued_ += ns;
    os_.proc_files().write("thread-self/schedstat", fmt::format("{} {} 7\n", os_.time, queued_));
  }
  void pass(TimeNs ns) { os_.time += ns; }
  void step(TimeNs works, TimeNs queued = 0) {
    clock_.begin();
    pass(works + queued);
    stood_in_queue(queued);
    clock_.end();
  }

  test::FakeOs os_;
  StepClock clock_{os_};

 private:
  TimeNs queued_ = 0;
};

TEST_F(StepClockTest, TellsTheLongest) {
  stood_in_queue(5 * kMs);
  EXPECT_EQ(clock_.longest(), 0);
  step(3 * kMs);
  step(25 * kMs);
  step(4 * kMs);
  EXPECT_EQ(clock_.longest(), 25 * kMs);
}

TEST_F(StepClockTest, CountsThoseThatTookTooLong) {
  stood_in_queue(0);
  step(StepClock::kTooLong);
  step(19 * kMs, 50 * kMs);
  EXPECT_EQ(clock_.too_long(), 0u);
  step(StepClock::kTooLong + 1);
  step(300 * kMs, 50 * kMs);
  EXPECT_EQ(clock_.too_long(), 2u);
}

TEST_F(StepClockTest, TimeBetweenStepsIsNobodys) {
  stood_in_queue(0);
  step(3 * kMs);
  pass(500 * kMs);
  clock_.end();
  step(2 * kMs);
  EXPECT_EQ(clock_.longest(), 3 * kMs);
}

// Others had the CPU; what was waited for before the step counts neither for it nor against it.
TEST_F(StepClockTest, TimeInTheRunQueueDoesNotCount) {
  stood_in_queue(300 * kMs);
  step(12 * kMs, 90 * kMs);
  EXPECT_EQ(clock_.longest(), 12 * kMs);
  stood_in_queue(300 * kMs);
  step(15 * kMs);
  EXPECT_EQ(clock_.longest(), 15 * kMs);
}

// Twin: where nobody counts the time in the run queue, all of it is the step's.
TEST_F(StepClockTest, WhereTheKernelDoesNotCountAllOfItCounts) {
  clock_.begin();
  pass(102 * kMs);
  clock_.end();
  EXPECT_EQ(clock_.longest(), 102 * kMs);
}

TEST_F(StepClockTest, AMinuteLaterItIsForgotten) {
  stood_in_queue(0);
  step(40 * kMs);
  for (int second = 0; second < 58; ++second) {
    pass(1000 * kMs);
    step(2 * kMs);
  }
  EXPECT_EQ(clock_.longest(), 40 * kMs);
  pass(2000 * kMs);
  EXPECT_EQ(clock_.longest(), 2 * kMs);
  pass(100'000 * kMs);
  EXPECT_EQ(clock_.longest(), 0);
}

TEST_F(StepClockTest, NonsenseOfTheKernelCountsNothing) {
  for (const char* said : {"", "x", "1", "5 99999999999999999999999999 1"}) {
    StepClock clock(os_);
    os_.proc_files().write("thread-self/schedstat", said);
    clock.begin();
    pass(20 * kMs);
    clock.end();
    EXPECT_EQ(clock.longest(), 20 * kMs) << said;
    pass(100'000 * kMs);
  }
}

TEST(LongestOfMinute, ASecondThatComesAgainStartsAnew) {
  LongestOfMinute longest;
  longest.add(5000 * kMs, 30);
  longest.add(65000 * kMs, 10);
  EXPECT_EQ(longest.get(65000 * kMs), 10);
}

}  // namespace
}  // namespace tailor::session
