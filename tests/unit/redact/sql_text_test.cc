#include "daemon/redact/sql_text.h"

#include <gtest/gtest.h>

#include <random>

namespace tailor::redact {
namespace {

TEST(WithoutLiterals, TakesStringsAndNumbersOutAndLeavesTheShape) {
  EXPECT_EQ(without_literals("select a1, b from t1 where x = 'Ana' and y > 1.5e-3 and z = 0xFF limit 10"),
            "select a1, b from t1 where x = ? and y > ? and z = ? limit ?");
  EXPECT_EQ(without_literals("l_shipdate <= date '1998-12-01' - interval '90' day"),
            "l_shipdate <= date ? - interval ? day");
  EXPECT_EQ(without_literals("o_orderdate < 1995-01-01"), "o_orderdate < ?");
  EXPECT_EQ(without_literals("1995-01-01 <= d and d < 1996-01-01"), "? <= d and d < ?");
  EXPECT_EQ(without_literals("1995-1-1, 21995-01-01, 1995-01-011, 1995-01-01secret, 1995-01-"),
            "?-?-?, ?-?-?, ?-?-?, ?-?-?, ?-?-");
  EXPECT_EQ(without_literals("x = $1 and y = :name and z = ?"), "x = $1 and y = :name and z = ?");
}

TEST(WithoutLiterals, KnowsTheWaysToWriteAString) {
  EXPECT_EQ(without_literals("'it''s' , E'a\\'b secret' , X'00ff' , N'n' , _utf8'u' , U&'\\0041'"),
            "? , ? , ? , ? , ? , ?");
  EXPECT_EQ(without_literals("$$secret$$ , $tag$ it's $$ $tag$ , a$b"), "? , ? , a$b");
  EXPECT_EQ(without_literals("where name = \"secret\""), "where name = ?");
  EXPECT_EQ(without_literals("select \"Order Id\" from `t`", DoubleQuotes::kName),
            "select \"Order Id\" from `t`");
}

TEST(WithoutLiterals, CommentsGo) {
  EXPECT_EQ(without_literals("select 1 -- secret\n, 2 /* secret /* nested */ secret */ from t"),
            "select ?  \n, ?   from t");
  EXPECT_EQ(without_literals("select /* secret"), "select  ");
}

// Where dialects disagree, or a text is cut, nothing that may be a literal stays.
TEST(WithoutLiterals, WhatIsNotClearGoes) {
  EXPECT_EQ(without_literals("x = 'it\\'s secret' and y = 'secret'"), "x = ?");
  EXPECT_EQ(without_literals("x = 'a\\' and y = 'secret'"), "x = ?");
  EXPECT_EQ(without_literals("x = 'secret"), "x = ?");
  EXPECT_EQ(without_literals("x = $q$secret"), "x = ?");
  EXPECT_EQ(without_literals("x = 12secret34"), "x = ?");
  EXPECT_EQ(without_literals("x = `a\\` secret`"), "x = ?");
}

TEST(NameWithoutLiterals, PlainWordsStay) {
  EXPECT_EQ(name_without_literals("tpch-3"), "tpch-3");
  EXPECT_EQ(name_without_literals("build 2"), "build 2");
  EXPECT_EQ(name_without_literals("pipeline 1"), "pipeline 1");
  // Spark's name of a statement, and a condition as an attribute.
  EXPECT_EQ(name_without_literals("SQL execution 7: select ssn from t where id between 123456 and 123999"),
            "SQL execution ?: select ssn from t where id between ? and ?");
  EXPECT_EQ(name_without_literals("salary BETWEEN 1000 AND 2000"), "salary BETWEEN ? AND ?");
  EXPECT_EQ(name_without_literals("card 4000123412341234"), "card ?");
  EXPECT_EQ(name_without_literals("Select a 42"), "Select a ?");
  EXPECT_EQ(name_without_literals("Filter x < 42"), "Filter x < ?");
  EXPECT_EQ(name_without_literals("select * from t where id = 42"), "select * from t where id = ?");
  EXPECT_EQ(name_without_literals("'secret'"), "?");
}

TEST(Normalised, TextsThatDifferInLiteralsAreOne) {
  const std::string one = normalised("SELECT a FROM t\n WHERE x IN (1, 2,3) -- note\n AND y = 'a';");
  EXPECT_EQ(one, "select a from t where x in(?)and y=?");
  EXPECT_EQ(one, normalised("select a from t where x in ( 7 ) and y='other'"));
  EXPECT_EQ(normalised("select \"A  b\" \"c\"", DoubleQuotes::kName), "select \"A  b\" \"c\"");
  EXPECT_NE(one, normalised("select b from t where x in (1) and y = 'a'"));
}

// A canary in a literal never comes through, wherever random quoting around it leads.
TEST(WithoutLiterals, ACanaryInALiteralNeverStays) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"select ", "x",  " = ", "'",  "''", "\\", "\"", "$$",
                                           "$t$",     "--", "/*",  "*/", "\n", "1",  "E",  "e",
                                           " ",       ",",  "`",   "#",  "(",  ")"};
  for (int round = 0; round < 20'000; ++round) {
    std::string before;
    for (int i = 0; i < 6; ++i) before += pieces[random() % pieces.size()];
    // What is in front ends outside of any quote or comment if the lexer leaves a word behind it as it is.
    if (!without_literals(before + " probe").ends_with(" probe")) continue;
    EXPECT_EQ(without_literals(before + " 'canary'").find("canary"), std::string::npos) << before;
    EXPECT_LE(without_literals(before).size(), before.size() + 1);
  }
}

}  // namespace
}  // namespace tailor::redact
