#include <gtest/gtest.h>

#include "compiler/weft/types/value.h"

namespace tailor::weft {
namespace {

TEST(Int128, PrintsDecimals) {
  EXPECT_EQ(to_string(Int128{0}), "0");
  EXPECT_EQ(to_string(Int128{5}, 2), "0.05");
  EXPECT_EQ(to_string(Int128{-12345}, 2), "-123.45");
  EXPECT_EQ(to_string(kInt128Min), "-170141183460469231731687303715884105728");
}

TEST(Range, ProductsTakeTheExtremeCorners) {
  EXPECT_EQ(multiply({-3, 2}, {-5, 7}).range, (Range{-21, 15}));
  EXPECT_FALSE(multiply({-3, 2}, {-5, 7}).may_overflow);
}

TEST(Range, OverflowOf128BitsIsNoticed) {
  EXPECT_TRUE(add({0, kInt128Max}, {0, 1}).may_overflow);
  EXPECT_TRUE(subtract({0, 0}, {kInt128Min, 0}).may_overflow);
  EXPECT_TRUE(multiply({0, power_of_ten(30)}, {0, power_of_ten(30)}).may_overflow);
}

// Every quotient of small intervals, rounded half away from zero, has to lie in the derived range.
TEST(Range, DivisionCoversEveryQuotient) {
  const Range ranges[] = {{-7, 5}, {0, 9}, {3, 4}, {-4, -1}, {1, 1}};
  for (const Range& a : ranges) {
    for (const Range& b : ranges) {
      Range result = divide(a, b);
      for (Int128 x = a.min; x <= a.max; ++x) {
        for (Int128 y = b.min; y <= b.max; ++y) {
          if (y == 0) continue;
          double exact = static_cast<double>(x) / static_cast<double>(y);
          EXPECT_TRUE(result.contains(static_cast<Int128>(exact < 0 ? exact - 0.5 : exact + 0.5)));
        }
      }
    }
  }
}

TEST(Type, WidthFollowsTheRange) {
  Type money = Type::decimal(15, 2);
  EXPECT_EQ(width_of(money, {0, INT64_MAX}), Width::k64);
  EXPECT_EQ(width_of(money, {0, Int128{INT64_MAX} + 1}), Width::k128);
  EXPECT_EQ(width_of(Type::date(), {0, 1}), Width::k32);
}

TEST(Date, RoundTripsAndRejects) {
  for (const char* text : {"1970-01-01", "1969-12-31", "1992-02-29", "1998-12-01", "2100-02-28"}) {
    auto days = parse_date(text);
    ASSERT_TRUE(days) << text;
    EXPECT_EQ(date_to_string(*days), text);
  }
  for (const char* text : {"1993-02-29", "1993-13-01", "93-01-01", "1993/01/01", "1993-01-0x", ""}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

}  // namespace
}  // namespace tailor::weft
