#include "daemon/formats/perf_map.h"

#include <gtest/gtest.h>

namespace tailor::formats {
namespace {

JitSymbols parse(std::string_view text) {
  std::size_t used = 0;
  return parse_perf_map(text, used);
}

TEST(PerfMap, ReadsSymbolsWithSpacesInNames) {
  auto map = parse("1000 20 LazyCompile:~add /tmp/a b.js:1\n0x2000 0x10 stub\n");
  ASSERT_EQ(map.symbols.size(), 2u);
  EXPECT_EQ(map.symbols[0].address, 0x1000u);
  EXPECT_EQ(map.symbols[0].size, 0x20u);
  EXPECT_EQ(map.symbols[0].name, "LazyCompile:~add /tmp/a b.js:1");
  EXPECT_EQ(map.symbols[1].address, 0x2000u);
  EXPECT_EQ(map.malformed, 0u);
  EXPECT_FALSE(map.cut);
}

TEST(PerfMap, CountsWhatIsNoSymbol) {
  auto map = parse("hello\n1000\n1000 zz name\n1000 0 empty\nffffffffffffffff 2 wraps\n10 10 good\n\n");
  EXPECT_EQ(map.symbols.size(), 1u);
  EXPECT_EQ(map.malformed, 5u);
}

// As perf takes it: an arena for all generated code.
TEST(PerfMap, AnEntryMayBeLargerThanAnyFunction) {
  auto map = parse("7f0000000000 40000000 arena\n7f0000001000 ffffffff most\n7f0000002000 100000000 more\n");
  ASSERT_EQ(map.symbols.size(), 2u);
  EXPECT_EQ(map.symbols[0].size, std::uint64_t{1} << 30);
  EXPECT_EQ(map.symbols[1].name, "most");
  EXPECT_EQ(map.malformed, 1u);
}

TEST(PerfMap, ALineThatIsBeingWrittenIsNotWrong) {
  std::size_t used = 0;
  auto map = parse_perf_map("1000 20 whole\n2000 20 hal", used);
  EXPECT_EQ(map.symbols.size(), 1u);
  EXPECT_EQ(map.malformed, 0u);
  EXPECT_TRUE(map.cut);
  EXPECT_EQ(used, 14u) << "it is read again when it is whole";
}

TEST(PerfMap, ReadsTabsAndSeveralBlanks) {
  auto map = parse("1000\t20\ttabs here\n  0x2000   0x10   blanks\r\n \t\n");
  ASSERT_EQ(map.symbols.size(), 2u);
  EXPECT_EQ(map.symbols[0].address, 0x1000u);
  EXPECT_EQ(map.symbols[0].name, "tabs here");
  EXPECT_EQ(map.symbols[1].size, 0x10u);
  EXPECT_EQ(map.symbols[1].name, "blanks");
  EXPECT_EQ(map.malformed, 0u);
}

TEST(PerfMap, TheLastLineOfAMapThatIsWholeNeedsNoEnd) {
  std::size_t used = 0;
  auto map = parse_perf_map("1000 20 first\n2000 20 last", used, true);
  ASSERT_EQ(map.symbols.size(), 2u);
  EXPECT_EQ(map.symbols[1].name, "last");
  EXPECT_FALSE(map.cut);
  EXPECT_EQ(used, 26u);
}

TEST(PerfMap, EveryLineIsKeptInTheOrderOfTheFile) {
  auto map = parse("2000 10 b\n1000 100 first\n1080 10 inside\n1000 100 again\n");
  ASSERT_EQ(map.symbols.size(), 4u);
  EXPECT_EQ(map.symbols[0].name, "b");
  EXPECT_EQ(map.symbols[2].address, 0x1080u);
  EXPECT_EQ(map.symbols[3].name, "again");
  EXPECT_EQ(map.symbols[3].size, 0x100u);
}

}  // namespace
}  // namespace tailor::formats
