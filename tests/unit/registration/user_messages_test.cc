#include "daemon/registration/user_messages.h"

#include <gtest/gtest.h>

namespace tailor::registration {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kUser = 1000;
constexpr std::uint64_t kNoisy = 1, kQuiet = 2;

class UserMessagesTest : public ::testing::Test {
 protected:
  // How many messages of the process are read, one at a time, until it has to wait.
  int read_all(std::uint64_t process, std::uint32_t user = kUser) {
    int count = 0;
    for (; count < 10'000 && messages_.may(user, process, now_); ++count) messages_.read(user, process, 1);
    return count;
  }

  UserMessages messages_{100};
  UserMessages::Clock::time_point now_{1h};
};

TEST_F(UserMessagesTest, OneProcessHasAllOfItsUser) {
  EXPECT_EQ(read_all(kNoisy), 100);
  now_ += 100ms;
  EXPECT_EQ(read_all(kNoisy), 10);
  now_ += 10s;
  EXPECT_EQ(read_all(kNoisy), 100);
}

TEST_F(UserMessagesTest, ANoisyProcessLeavesTheOthersTheirPart) {
  EXPECT_TRUE(messages_.may(kUser, kQuiet, now_));
  EXPECT_GE(read_all(kNoisy), 50);
  EXPECT_FALSE(messages_.may(kUser, kNoisy, now_));
  EXPECT_TRUE(messages_.may(kUser, kQuiet, now_));
  EXPECT_GE(read_all(kQuiet), 50);
  EXPECT_FALSE(messages_.may(kUser, kQuiet, now_));
}

// Both send without end: each has its half, and together they have no more than one alone.
TEST_F(UserMessagesTest, TheSumStaysWithinTheLimit) {
  int noisy = 0, quiet = 0;
  for (int i = 0; i < 1000; ++i) {
    noisy += read_all(kNoisy);
    quiet += read_all(kQuiet);
    now_ += 10ms;
  }
  EXPECT_LE(noisy + quiet, 10 * 100 + 200);
  EXPECT_GE(quiet, 10 * 50 - 100);
  EXPECT_GE(noisy, 10 * 50 - 100);
}

TEST_F(UserMessagesTest, OtherUsersAndProcessesThatAreGoneTakeNoPart) {
  EXPECT_EQ(read_all(kNoisy), 100);
  EXPECT_EQ(read_all(kNoisy, kUser + 1), 100);
  EXPECT_TRUE(messages_.may(kUser, kQuiet, now_));
  for (int i = 0; i < 30; ++i) {
    now_ += 100ms;
    (void)messages_.may(kUser, kNoisy, now_);
  }
  EXPECT_EQ(read_all(kNoisy), 100);
}

TEST_F(UserMessagesTest, ZeroIsNoLimit) {
  messages_ = UserMessages(0);
  EXPECT_EQ(read_all(kNoisy), 10'000);
}

}  // namespace
}  // namespace tailor::registration
