#include "daemon/unwind/patience.h"

#include <gtest/gtest.h>

#include "daemon/os/user_threads.h"
#include "tests/support/fake_os.h"

namespace tailor::unwind {
namespace {

using Answer = Patience::Answer;

constexpr TimeNs kMillisecond = 1'000'000;
constexpr std::uint32_t kSlow = 1, kOther = 2;

class PatienceTest : public testing::Test {
 protected:
  // The thread looks again after so long.
  Answer after(TimeNs pause, const Progress& missing) {
    os.time += pause;
    patience.begin_step(arrived);
    return patience.ask(missing);
  }

  test::FakeOs os;
  // The thread itself does not wait here.
  PatienceLimits limits{.of_a_message = 300 * kMillisecond, .of_a_user = 200 * kMillisecond, .here = 0};
  Patience patience{os, limits};
  TimeNs arrived = os.time;
  Progress slow{kSlow}, other{kOther};
};

TEST_F(PatienceTest, WhatIsThereIsNotWaitedFor) {
  slow.finish();
  EXPECT_EQ(after(0, slow), Answer::kIsThere);
}

TEST_F(PatienceTest, WhatIsThereSoonIsThereAtOnce) {
  limits.here = 3600'000'000'000;
  limits.of_a_step = limits.here;
  Patience patient(os, limits);
  patient.begin_step(os.time);
  os::UserThreads(1).add(kSlow, [this] { slow.finish(); });
  EXPECT_EQ(patient.ask(slow), Answer::kIsThere);
}

TEST_F(PatienceTest, AUserMakesOthersWaitSoLong) {
  EXPECT_EQ(after(0, slow), Answer::kLater);
  EXPECT_EQ(after(100 * kMillisecond, slow), Answer::kLater);
  EXPECT_EQ(after(120 * kMillisecond, slow), Answer::kNoLonger) << "others wait behind him";
  EXPECT_EQ(after(0, other), Answer::kLater) << "which is not their fault";
  arrived = os.time;
  EXPECT_EQ(after(0, slow), Answer::kNoLonger) << "the next message does not wait for him either";
}

TEST_F(PatienceTest, TimeInWhichNobodyWaitsIsNotHis) {
  EXPECT_EQ(after(0, slow), Answer::kLater);
  os.time += 10 * kMillisecond;
  patience.begin_step(arrived);  // it was there
  arrived = os.time += 3600'000 * kMillisecond;
  EXPECT_EQ(after(0, slow), Answer::kLater);
  EXPECT_EQ(after(150 * kMillisecond, slow), Answer::kLater) << "he has all of it again";
}

TEST_F(PatienceTest, HeGetsItBackBitByBit) {
  EXPECT_EQ(after(0, slow), Answer::kLater);
  EXPECT_EQ(after(250 * kMillisecond, slow), Answer::kNoLonger);
  arrived = os.time + 10 * limits.of_a_user;
  EXPECT_EQ(after(100 * kMillisecond, slow), Answer::kNoLonger);
  EXPECT_EQ(after(2'000 * kMillisecond, slow), Answer::kLater);
}

TEST_F(PatienceTest, AMessageWaitsSoLongForAllTogether) {
  EXPECT_EQ(after(0, slow), Answer::kLater);
  EXPECT_EQ(after(180 * kMillisecond, other), Answer::kLater);
  EXPECT_EQ(after(130 * kMillisecond, other), Answer::kNoLonger);
}

TEST_F(PatienceTest, UsersAreManyButNotWithoutEnd) {
  Answer last = Answer::kLater;
  for (std::uint32_t user = 0; user < 2000; ++user) last = after(0, Progress(user));
  EXPECT_EQ(last, Answer::kNoLonger);
  os.time += 10 * limits.of_a_user;
  arrived = os.time;
  EXPECT_EQ(after(0, Progress(5000)), Answer::kLater);
}

}  // namespace
}  // namespace tailor::unwind
