#include "viewer/cli/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPage =
    "<head></head><script type=\"application/json\" id=\"tailor-bundle\">null</script><script>x</script>";

TEST(HtmlReport, PutsTheDataInItsPlace) {
  const auto filled = html_report(kPage, R"({"a": 1})");
  ASSERT_TRUE(filled);
  EXPECT_EQ(*filled,
            "<head></head><script type=\"application/json\" id=\"tailor-bundle\">{\"a\": 1}</script>"
            "<script>x</script>");
}

TEST(HtmlReport, NoNameEndsTheElementThatHoldsTheData) {
  const auto filled = html_report(kPage, R"({"name": "</script><img src=x><!--<script>"})");
  ASSERT_TRUE(filled);
  EXPECT_THAT(*filled, HasSubstr(R"("\u003c/script>\u003cimg src=x>\u003c!--\u003cscript>")"));
  EXPECT_THAT(*filled, Not(HasSubstr("<img")));
}

TEST(HtmlReport, WantsThePlaceOfTheDataOnce) {
  EXPECT_FALSE(html_report("<html></html>", "{}"));
  EXPECT_FALSE(html_report(kPage + kPage, "{}"));
}

TEST(HtmlReport, WithoutThePageItSaysWhatToDo) {
  const auto filled = html_report("", "{}");
  ASSERT_FALSE(filled);
  EXPECT_THAT(filled.error().message, HasSubstr("./dev build"));
}

}  // namespace
}  // namespace tailor::cli
