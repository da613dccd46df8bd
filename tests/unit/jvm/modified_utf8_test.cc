#include "agent/jvm/modified_utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/base/utf8.h"

namespace tailor::jvm {
namespace {

TEST(ModifiedUtf8, PlainTextStays) {
  EXPECT_EQ(from_modified_utf8(""), "");
  EXPECT_EQ(from_modified_utf8("select 1 -- \xC3\xA4\xE2\x82\xAC\n"), "select 1 -- \xC3\xA4\xE2\x82\xAC\n");
}

TEST(ModifiedUtf8, PairsBecomeOneCharacter) {
  // U+1F4CA, U+10000 and U+10FFFF
  EXPECT_EQ(from_modified_utf8("\xED\xA0\xBD\xED\xB3\x8A!"), "\xF0\x9F\x93\x8A!");
  EXPECT_EQ(from_modified_utf8("\xED\xA0\x80\xED\xB0\x80"), "\xF0\x90\x80\x80");
  EXPECT_EQ(from_modified_utf8("\xED\xAF\xBF\xED\xBF\xBF"), "\xF4\x8F\xBF\xBF");
}

TEST(ModifiedUtf8, WhatUtf8CannotHoldIsMarked) {
  EXPECT_EQ(from_modified_utf8(std::string("a\xC0\x80z")), "a?z");  // NUL
  EXPECT_EQ(from_modified_utf8("\xED\xA0\x80"), "?");               // high alone
  EXPECT_EQ(from_modified_utf8("\xED\xB0\x80x"), "?x");             // low alone
  EXPECT_EQ(from_modified_utf8("\xED\xB0\x80\xED\xA0\x80"), "??");  // in the wrong order
  EXPECT_EQ(from_modified_utf8("\xED\xA0\x80\xED\xA0\x80\xED\xB0\x80"), "?\xF0\x90\x80\x80");
}

TEST(ModifiedUtf8, ItsNeighboursAreNoSurrogates) {
  for (const std::string text : {"\xED\x9F\xBF", "\xEE\x80\x80"}) {  // U+D7FF and U+E000
    EXPECT_EQ(from_modified_utf8(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(ModifiedUtf8, CutTextIsReadToItsEnd) {
  for (const std::string text : {"\xED", "\xED\xA0", "\xC0", "\xED\xA0\x80\xED\xB0"})
    EXPECT_LE(from_modified_utf8(text).size(), text.size());
}

}  // namespace
}  // namespace tailor::jvm
