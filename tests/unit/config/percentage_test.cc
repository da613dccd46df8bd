#include "daemon/config/percentage.h"

#include <gtest/gtest.h>

namespace tailor::config {
namespace {

TEST(Percentage, IsReadStrictly) {
  EXPECT_DOUBLE_EQ(*parse_percentage("1%"), 0.01);
  EXPECT_DOUBLE_EQ(*parse_percentage("0.5 %"), 0.005);
  for (const char* text : {"", "%", "1", "0%", "-1%", "100%", "1%%", "nan%", "1x%", "0x1%"}) {
    EXPECT_FALSE(parse_percentage(text).ok()) << text;
  }
}

TEST(Percentage, SharesAreReadStrictly) {
  EXPECT_EQ(*parse_share("1/8"), 125'000u);
  EXPECT_EQ(*parse_share("1/3"), 333'333u);
  EXPECT_EQ(*parse_share("12.5%"), 125'000u);
  EXPECT_EQ(*parse_share("1/1"), 1'000'000u);
  EXPECT_EQ(*parse_share("all"), 1'000'000u);
  EXPECT_EQ(*parse_share("0"), 0u);
  for (const char* text :
       {"", "1/0", "1/", "2/3", "1/8x", "1/-8", "8", "0%", "100%", "1/9000000", "0.00001%"})
    EXPECT_FALSE(parse_share(text).ok()) << text;
}

}  // namespace
}  // namespace tailor::config
