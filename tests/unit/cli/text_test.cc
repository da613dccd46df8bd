#include "viewer/cli/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "viewer/cli/terminal.h"

namespace tailor::cli {
namespace {

TEST(Escape, WhatMovesHidesOrReordersIsShown) {
  EXPECT_EQ(escape("plain text", false), "plain text");
  EXPECT_EQ(escape("\x1b[2J\x07", false), "\\x1b[2J\\x07");
  EXPECT_EQ(escape("a\nb\tc\r", false), "a\\nb\\tc\\x0d");
  EXPECT_EQ(escape("\xC2\x9B"
                   "31m",
                   false),
            "\\x9b31m");                                        // C1: a one-character escape sequence
  EXPECT_EQ(escape("\xE2\x80\xAE", false), "\\u{202e}");        // right-to-left override
  EXPECT_EQ(escape("\xE2\x80\x8B", false), "\\u{200b}");        // zero width space
  EXPECT_EQ(escape("\xF3\xA0\x81\x81", false), "\\u{e0041}");   // a tag character
  EXPECT_EQ(escape("\xFF\xC0\x80", false), "\\xff\\xc0\\x80");  // not UTF-8
  EXPECT_EQ(escape("\xED\xA0\x80", false), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape("caf\xC3\xA9", false), "caf\xC3\xA9");
  EXPECT_EQ(escape("caf\xC3\xA9", true), "caf\\xe9");
  EXPECT_EQ(escape(std::string_view("\0", 1), false), "\\x00");
}

TEST(Escape, CombiningMarksDoNotPileUp) {
  std::string pile = "a";
  for (int i = 0; i < 50; ++i) pile += "\xCC\x81";
  const std::string out = escape(pile, false);
  EXPECT_THAT(out, testing::HasSubstr("\\u{301}"));
}

TEST(Escape, AnyBytesBecomeHarmless) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    for (bool ascii : {false, true}) {
      const std::string out = escape(bytes, ascii);
      for (char c : out) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
      ASSERT_EQ(escape(out, ascii), out);
    }
  }
}

TEST(EscapeLine, WhiteSpaceCollapses) {
  EXPECT_EQ(escape_line("  select *\n\t from t ;\n", false), "select * from t ;");
}

TEST(SqlLine, CommentsAreLeftOut) {
  EXPECT_EQ(sql_line("-- why\nselect 1 -- kept\n  -- gone\nfrom t", false), "select 1 -- kept from t");
}

TEST(Columns, AsSeen) {
  EXPECT_EQ(columns("abc"), 3u);
  EXPECT_EQ(columns("caf\xC3\xA9"), 4u);
  EXPECT_EQ(columns("\xE6\x97\xA5\xE6\x9C\xAC"), 4u);  // two wide characters
  EXPECT_EQ(columns("e\xCC\x81"), 1u);                 // a combining accent
}

TEST(Cut, NeverWiderThanAsked) {
  EXPECT_EQ(cut("hello world", 8, true), "hello...");
  EXPECT_EQ(cut("hello world", 8, false), "hello w\xE2\x80\xA6");
  EXPECT_EQ(cut("hello", 5, true), "hello");
  for (std::size_t width = 0; width < 12; ++width) {
    EXPECT_LE(columns(cut("\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5\xE6\x9C\xAC", width, false)), width);
    EXPECT_LE(columns(cut("hello world", width, true)), width);
  }
}

TEST(Wrap, LinesFit) {
  EXPECT_EQ(wrap("one two three", 9, 2), "  one two\n  three");
  EXPECT_EQ(wrap("aaa 6.2 %, b", 9, 0), "aaa\n6.2 %, b");
}

TEST(Numbers, InWords) {
  EXPECT_EQ(duration(812), "812 ns");
  EXPECT_EQ(duration(1'500'000), "1.50 ms");
  EXPECT_EQ(duration(12.34e9), "12.3 s");
  EXPECT_EQ(duration(999'999), "1.00 ms");
  EXPECT_EQ(duration(999.7), "1.00 us");
  EXPECT_EQ(percent(0.1234), "12.3 %");
  EXPECT_EQ(percent(0), "0.0 %");
  EXPECT_EQ(percent(0.0001), "<0.1 %");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(at_least("3.00 s", true), "> 3.00 s");
  EXPECT_EQ(columns(at_least("3.00 s", false)), 8u);
}

TEST(Text, ColumnsOfNumbersHaveRoomForTheLargest) {
  EXPECT_EQ(number_width(0, 9), 9u);
  EXPECT_EQ(number_width(999'999, 9), 9u);
  EXPECT_EQ(number_width(1'000'000, 9), 11u);
  EXPECT_EQ(number_width(12'345'678, 9), 12u);
  EXPECT_EQ(number_width(-1, 9), 9u);
  EXPECT_EQ(number_width(std::numeric_limits<double>::infinity(), 9), 27u);
}

TEST(Text, LinesAreCutAndColoursStayWhole) {
  EXPECT_EQ(fit("12345\n123456\n\n", 5, false), "12345\n1234…\n\n");
  EXPECT_EQ(fit("123456", 5, true), "12...");
  EXPECT_EQ(fit("\x1b[1m12345\x1b[0m", 5, false), "\x1b[1m12345\x1b[0m") << "colours take no columns";
  EXPECT_EQ(fit("\x1b[1m123456\x1b[0m\n", 5, false), "\x1b[1m1234…\x1b[0m\n")
      << "and end where they were cut";
  EXPECT_EQ(fit("漢字漢", 5, false), "漢字…");
}

TEST(Text, LinesForProgramsAreHarmlessOnATerminal) {
  EXPECT_EQ(harmless_lines("a,b\r\nc\x1b[2J\nd\xc2\x9b"), "a,b\r\nc\\x1b[2J\nd\\x9b");
  EXPECT_EQ(harmless_lines("a\rb\n"), "a\\x0db\n") << "a return within a line would hide its begin";
  EXPECT_EQ(harmless_json("{\n \"a\": \"\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81\x7fé\"}"),
            "{\n \"a\": \"\\u009b\\u202e\\udb40\\udc01\\u007fé\"}");
}

TEST(Bar, FillsItsColumns) {
  Terminal ascii;
  EXPECT_EQ(ascii.bar(0.5, 10), "#####     ");
  Terminal unicode;
  unicode.ascii = false;
  for (double share : {-1.0, 0.0, 0.03, 0.5, 0.99, 1.0, 7.0}) EXPECT_EQ(columns(unicode.bar(share, 10)), 10u);
}

}  // namespace
}  // namespace tailor::cli
