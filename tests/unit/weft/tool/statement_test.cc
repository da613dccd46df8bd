#include "compiler/weft/tool/statement.h"

#include <gtest/gtest.h>

namespace tailor::weft {
namespace {

TEST(Statement, ExplainIsBlankedSoThatPlacesStay) {
  Statement plain = read_statement("select 1");
  EXPECT_FALSE(plain.explain || plain.analyze);
  EXPECT_EQ(plain.sql.text, "select 1");
  Statement explain = read_statement("\n Explain select 1");
  EXPECT_TRUE(explain.explain);
  EXPECT_FALSE(explain.analyze);
  EXPECT_EQ(explain.sql.text, "\n         select 1");
  Statement analyze = read_statement("explain\nANALYZE\nselect 1");
  EXPECT_TRUE(analyze.explain && analyze.analyze);
  EXPECT_EQ(analyze.sql.text, "       \n       \nselect 1");
  EXPECT_FALSE(read_statement("explained").explain);
  EXPECT_FALSE(read_statement("analyze select 1").analyze);
  EXPECT_TRUE(read_statement("explain").explain);
  EXPECT_EQ(read_statement("").sql.text, "");
}

TEST(Statement, SemicolonsSplitButNotInTexts) {
  std::vector<QueryText> statements =
      split_statements("select ';' from a; -- a comment;\nexplain analyze select 2;\n");
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0].text, "select ';' from a");
  EXPECT_EQ(statements[0].begin, TextPlace{});
  EXPECT_EQ(statements[1].text, " -- a comment;\nexplain analyze select 2");
  EXPECT_EQ(statements[1].begin, (TextPlace{1, 19}));
  // What cannot be read is one statement: the parser says what is wrong with it.
  EXPECT_EQ(split_statements("select 'open"), std::vector<QueryText>{"select 'open"});
  EXPECT_EQ(split_statements(""), std::vector<QueryText>{""});
  EXPECT_EQ(split_statements(" ; ;"), std::vector<QueryText>{" ; ;"});
}

// Once each statement had blanks in the place of all the ones before it.
TEST(Statement, StatementsTakeTheMemoryOfTheirText) {
  std::string text;
  for (int i = 0; i < 8000; ++i) text += i % 2 == 0 ? "select 1;" : "\n  select 2;";
  std::size_t bytes = 0;
  std::vector<QueryText> statements = split_statements(text);
  ASSERT_EQ(statements.size(), 8000u);
  for (const QueryText& statement : statements) bytes += statement.text.capacity();
  EXPECT_LT(bytes, 8 * text.size());
  EXPECT_EQ(statements.back().begin, (TextPlace{4000, 21}));
}

}  // namespace
}  // namespace tailor::weft
