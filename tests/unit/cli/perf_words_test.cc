// What is typed by people who know perf.
#include "viewer/cli/perf_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::cli {
namespace {

using testing::HasSubstr;

// What the parser says of the line; "": it is right.
std::string said(const std::string& command, const std::string& line) {
  CLI::App app;
  CLI::App& sub = *app.add_subcommand(command);
  std::string file, format;
  sub.add_option("what", file);
  if (command == "export") sub.add_option("--format", format)->required();
  add_perf_words(sub);
  try {
    app.parse(command + " " + line);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(PerfWords, TheErrorSaysWhatToType) {
  EXPECT_THAT(said("report", "-i x.tailor"), HasSubstr("type tailor report FILE"));
  EXPECT_THAT(said("report", "--input=x.tailor"), HasSubstr("type tailor report FILE"));
  EXPECT_THAT(said("report", "x.tailor --sort dso"), HasSubstr("--level function"));
  EXPECT_THAT(said("report", "--stdio"), HasSubstr("leave it out"));
  EXPECT_THAT(said("report", "--time 1,2 x.tailor"), HasSubstr("--from TIME --to TIME"));
  EXPECT_THAT(said("record", "-a"), HasSubstr("name it with -p PID"));
  EXPECT_THAT(said("top", "--sort cpu"), HasSubstr("type s while it runs"));
  EXPECT_THAT(said("annotate", "-s main"), HasSubstr("--plan"));
}

TEST(PerfWords, EveryViewTakesItsFileWithoutAnOption) {
  for (const char* command : {"annotate", "flame", "timeline", "memory", "sql", "list", "iterations"}) {
    EXPECT_THAT(said(command, "-i x.tailor"), HasSubstr(std::string("type tailor ") + command + " FILE"));
    EXPECT_THAT(said(command, "--stdio x.tailor"), HasSubstr("--stdio is an option of perf"));
    EXPECT_EQ(said(command, "x.tailor"), "") << command;
  }
  EXPECT_THAT(said("status", "-i x"), testing::Not(HasSubstr("perf"))) << "it has no file";
}

TEST(PerfWords, TheHintComesBeforeWhatElseIsWrong) {
  EXPECT_THAT(said("export", "-i x.tailor"), HasSubstr("type tailor export FILE"));
  EXPECT_THAT(said("export", "x.tailor"), HasSubstr("--format")) << "and without it the other is said";
}

TEST(PerfWords, AreNoHelp) {
  CLI::App app;
  add_perf_words(*app.add_subcommand("report"));
  const std::string help = app.get_subcommand("report")->help();
  EXPECT_EQ(help.find("--stdio"), std::string::npos) << help;
}

TEST(PerfWords, CommandsOfPerf) {
  EXPECT_THAT(std::string(instead_of_perf_command("script")), HasSubstr("tailor export"));
  EXPECT_THAT(std::string(instead_of_perf_command("mem")), HasSubstr("tailor memory"));
  EXPECT_EQ(instead_of_perf_command("report"), "") << "we have one";
  EXPECT_EQ(instead_of_perf_command("nonsense"), "");
}

TEST(PerfWords, APidIsOneProcess) {
  EXPECT_EQ(*parse_pid("12"), 12);
  for (const char* text : {"", "0", "-1", "12x", "99999999999"}) EXPECT_FALSE(parse_pid(text)) << text;
  EXPECT_THAT(parse_pid("1,2").error().message, HasSubstr("one for each"));
}

}  // namespace
}  // namespace tailor::cli
