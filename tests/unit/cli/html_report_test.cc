#include "viewer/cli/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

TEST(WholeFile, ReplacesAFileAndLeavesNothingBeside) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tailor_whole_file_test";
  std::filesystem::create_directory(folder);
  const std::string path = folder / "out.html";
  ASSERT_TRUE(write_whole_file(path, "one, and longer"));
  ASSERT_TRUE(write_whole_file(path, "two"));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_FALSE(write_whole_file(folder / "none" / "out.html", "x"));
  std::filesystem::remove_all(folder);
}

TEST(WholeFile, DoesNotTakeTheNameOfADevice) {
  ASSERT_TRUE(write_whole_file("/dev/null", "x"));
  struct stat info{};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

}  // namespace
}  // namespace tailor::cli
