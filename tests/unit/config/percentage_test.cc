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

}  // namespace
}  // namespace tailor::config
