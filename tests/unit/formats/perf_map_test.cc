#include "daemon/formats/perf_map.h"

#include <gtest/gtest.h>

namespace tailor::formats {
namespace {

TEST(PerfMap, ReadsSymbolsWithSpacesInNames) {
  auto map = parse_perf_map("1000 20 LazyCompile:~add /tmp/a b.js:1\n0x2000 0x10 stub\n");
  ASSERT_EQ(map.symbols.size(), 2u);
  EXPECT_EQ(map.symbols[0].address, 0x1000u);
  EXPECT_EQ(map.symbols[0].size, 0x20u);
  EXPECT_EQ(map.symbols[0].name, "LazyCompile:~add /tmp/a b.js:1");
  EXPECT_EQ(map.symbols[1].address, 0x2000u);
  EXPECT_EQ(map.malformed, 0u);
  EXPECT_FALSE(map.cut);
}

TEST(PerfMap, CountsWhatIsNoSymbol) {
  auto map =
      parse_perf_map("hello\n1000\n1000 zz name\n1000 0 empty\nffffffffffffffff 2 wraps\n10 10 good\n\n");
  EXPECT_EQ(map.symbols.size(), 1u);
  EXPECT_EQ(map.malformed, 5u);
}

TEST(PerfMap, ALineThatIsBeingWrittenIsNotWrong) {
  auto map = parse_perf_map("1000 20 whole\n2000 20 hal");
  EXPECT_EQ(map.symbols.size(), 1u);
  EXPECT_EQ(map.malformed, 0u);
  EXPECT_TRUE(map.cut);
}

TEST(PerfMap, TheLaterSymbolWinsWhereTwoOverlap) {
  auto map =
      parse_perf_map("1000 100 first\n1080 10 inside\n1080 20 again\n2000 10 a\n2008 10 b\n2000 20 over\n");
  ASSERT_EQ(map.symbols.size(), 3u);
  EXPECT_EQ(map.symbols[0].name, "first");
  EXPECT_EQ(map.symbols[0].size, 0x80u);
  EXPECT_EQ(map.symbols[1].name, "again");
  EXPECT_EQ(map.symbols[1].size, 0x20u);
  EXPECT_EQ(map.symbols[2].name, "over");
  for (std::size_t i = 1; i < map.symbols.size(); ++i)
    EXPECT_LE(map.symbols[i - 1].address + map.symbols[i - 1].size, map.symbols[i].address);
}

}  // namespace
}  // namespace tailor::formats
