#include "daemon/pipeline/shares.h"

#include <gtest/gtest.h>

#include <vector>

namespace tailor::pipeline {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

// Takes as much as it can get, in pieces.
std::size_t fill(Shares::Share& share, Use& use, std::size_t piece = kMega / 4) {
  LimitReached why;
  while (share.may_take({.bytes = piece}, why)) {
    use.bytes += piece;
    share.set(use);
  }
  return use.bytes;
}

TEST(Shares, TogetherTheyNeverKeepMoreThanTheTotal) {
  process::Limits limits;
  limits.total_bytes = 64 * kMega;
  Shares shares(limits);
  std::vector<Shares::Share> all;
  std::vector<Use> uses(200);
  for (std::uint32_t i = 0; i < 200; ++i) {
    all.emplace_back(shares, i % 3);
    fill(all.back(), uses[i]);
    EXPECT_LE(shares.bytes(), limits.total_bytes) << i;
  }
  all.clear();
  EXPECT_EQ(shares.bytes(), 0u);
  EXPECT_EQ(shares.processes(), 0u);
}

// However many processes came before, the next one still gets something.
TEST(Shares, ThereIsRoomForAnother) {
  process::Limits limits;
  limits.total_bytes = 1024 * kMega;
  Shares shares(limits);
  std::vector<Shares::Share> greedy;
  std::vector<Use> uses(20);
  for (int i = 0; i < 20; ++i) {
    greedy.emplace_back(shares, 1000);
    fill(greedy.back(), uses[static_cast<std::size_t>(i)]);
  }
  EXPECT_LE(uses[0].bytes, limits.total_bytes / 3);
  for (const std::uint32_t uid : {1000u, 2000u}) {
    Shares::Share victim(shares, uid);
    Use use;
    EXPECT_GE(fill(victim, use), kMega) << uid;
  }
}

// Neighbours of the same user that take all they can leave a process its even part of the user's half of a
// quarter.
TEST(Shares, AnEvenPartIsEverybodysOwn) {
  process::Limits limits;
  limits.total_bytes = 64 * kMega;
  Shares shares(limits);
  Shares::Share victim(shares, 1000);
  std::vector<Shares::Share> greedy;
  std::vector<Use> uses(4);
  for (Use& use : uses) {
    greedy.emplace_back(shares, 1000);
    fill(greedy.back(), use);
  }
  Use use;
  EXPECT_GE(fill(victim, use, kMega / 16), limits.total_bytes / 8 / 5 - kMega / 16);
}

TEST(Shares, AUsersQuotasAreDividedAmongHisProcesses) {
  process::Limits limits;
  limits.user_plans = 100;
  limits.user_regions = 60;
  Shares shares(limits);
  Shares::Share one(shares, 7), other(shares, 8);
  LimitReached why;
  one.set({.plans = 99});
  EXPECT_TRUE(one.may_take({.plans = 1}, why));
  one.set({.plans = 100, .regions = 20});
  EXPECT_FALSE(one.may_take({.plans = 1}, why));
  EXPECT_EQ(why.key, "user-plans");
  EXPECT_NE(why.text.find("100"), std::string::npos) << why.text;
  EXPECT_TRUE(other.may_take({.plans = 100}, why));
  EXPECT_EQ(one.regions_left(), 40u);
  Shares::Share second(shares, 7);
  EXPECT_EQ(one.regions_left(), 10u);
  EXPECT_TRUE(second.may_take({.plans = 50}, why));
  EXPECT_FALSE(second.may_take({.plans = 51}, why));
}

}  // namespace
}  // namespace tailor::pipeline
