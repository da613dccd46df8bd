// The names of functions in a store: how much they may be, and that nobody takes all of it.
#include "daemon/session/names_budget.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

TEST(NamesBudgetTest, IsASixteenthOfTheStoreAndNeverLessThanSixteenMebibytes) {
  EXPECT_EQ(names_budget(std::uint64_t{4} << 30), std::uint64_t{256} << 20);
  EXPECT_EQ(names_budget(1 << 20), std::uint64_t{16} << 20);
  EXPECT_EQ(names_budget(0), UINT64_MAX) << "a store that is kept for ever has no such bound";
}

TEST(NamesBudgetTest, OneUserHasHalfAtMostAndOthersHaveRoom) {
  NamesBudget budget(1000);
  for (int i = 0; i < 1000 && budget.may_write(1, 1); ++i) budget.wrote(1, 1, 1);
  EXPECT_EQ(budget.used(), 500u);
  EXPECT_FALSE(budget.may_write(1, 1));
  for (int i = 0; i < 1000 && budget.may_write(2, 1); ++i) budget.wrote(1, 2, 1);
  EXPECT_EQ(budget.used(), 750u);
  EXPECT_TRUE(budget.may_write(3, 1));
}

TEST(NamesBudgetTest, WhatIsGoneIsFreeAgain) {
  NamesBudget budget(1000);
  budget.wrote(1, 1, 300);
  budget.wrote(2, 1, 200);
  ASSERT_FALSE(budget.may_write(1, 1));
  budget.forget_before(1);
  EXPECT_FALSE(budget.may_write(1, 1)) << "segment 1 is still there";
  budget.forget_before(2);
  EXPECT_EQ(budget.used(), 200u);
  EXPECT_TRUE(budget.may_write(1, 300));
  EXPECT_FALSE(budget.may_write(1, 301));
}

TEST(NamesBudgetTest, NumbersDoNotOverflow) {
  NamesBudget budget(names_budget(0));
  budget.wrote(1, 1, UINT64_MAX / 2);
  EXPECT_FALSE(budget.may_write(1, UINT64_MAX));
  EXPECT_TRUE(budget.may_write(2, 5));
  budget.set_most(10);
  EXPECT_FALSE(budget.may_write(2, 5)) << "less may be written than is there";
}

}  // namespace
}  // namespace tailor::session
