#include "compiler/weft/tool/statement.h"

#include <gtest/gtest.h>

namespace tailor::weft {
namespace {

TEST(Statement, ExplainIsBlankedSoThatPlacesStay) {
  Statement plain = ReadStatement("select 1");
  EXPECT_FALSE(plain.explain || plain.analyze);
  EXPECT_EQ(plain.sql, "select 1");
  Statement explain = ReadStatement("\n Explain select 1");
  EXPECT_TRUE(explain.explain);
  EXPECT_FALSE(explain.analyze);
  EXPECT_EQ(explain.sql, "\n         select 1");
  Statement analyze = ReadStatement("explain\nANALYZE\nselect 1");
  EXPECT_TRUE(analyze.explain && analyze.analyze);
  EXPECT_EQ(analyze.sql, "       \n       \nselect 1");
  EXPECT_FALSE(ReadStatement("explained").explain);
  EXPECT_FALSE(ReadStatement("analyze select 1").analyze);
  EXPECT_TRUE(ReadStatement("explain").explain);
  EXPECT_EQ(ReadStatement("").sql, "");
}

TEST(Statement, SemicolonsSplitButNotInTexts) {
  std::vector<std::string> statements =
      SplitStatements("select ';' from a; -- a comment;\nexplain analyze select 2;\n");
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0], "select ';' from a");
  EXPECT_EQ(statements[1].find("explain analyze select 2"), statements[1].rfind('\n') + 1);
  EXPECT_EQ(statements[1].find_first_not_of(" \n"), statements[1].find("--"));
  // What cannot be read is one statement: the parser says what is wrong with it.
  EXPECT_EQ(SplitStatements("select 'open"), std::vector<std::string>{"select 'open"});
  EXPECT_EQ(SplitStatements(""), std::vector<std::string>{""});
  EXPECT_EQ(SplitStatements(" ; ;"), std::vector<std::string>{" ; ;"});
}

}  // namespace
}  // namespace tailor::weft
