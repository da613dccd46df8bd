#include "daemon/tailord/process_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tailor::tailord {
namespace {

using session::NamesFrom;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  session::ProcessRules rules;
  std::vector<std::string> problems;  // with their lines
};

Read read(const char* text) {
  Read out;
  const toml::table file = toml::parse(text);
  out.rules = read_process_rules(*file["processes"].as_table(),
                                 [&](const toml::source_region& where, const std::string& what) {
                                   out.problems.push_back(std::to_string(where.begin.line) + ": " + what);
                                 });
  return out;
}

TEST(ProcessConfig, RulesAreRead) {
  const Read r = read(R"([processes]
ignore = ["backup", "/usr/bin/rsync", {uid = 1000, cgroup = "/user.slice"}]
[[processes.sample]]
executable = "python3"
[[processes.sample]]
cgroup = "/system.slice/etl.service"
uid = 990
names = "perf-map"
rules = "/etc/tailor/rules/etl.toml"
)");
  EXPECT_THAT(r.problems, IsEmpty());
  ASSERT_EQ(r.rules.ignore.size(), 3u);
  EXPECT_EQ(r.rules.ignore[1].executable, "/usr/bin/rsync");
  EXPECT_EQ(r.rules.ignore[2].cgroup, "/user.slice");
  EXPECT_EQ(r.rules.ignore[2].uid, 1000u);
  ASSERT_EQ(r.rules.sample.size(), 2u);
  EXPECT_EQ(r.rules.sample[0].names, NamesFrom::kAuto);
  EXPECT_EQ(r.rules.sample[1].names, NamesFrom::kPerfMap);
  EXPECT_EQ(r.rules.sample[1].match.uid, 990u);
  EXPECT_EQ(r.rules.sample[0].rules, "");
  EXPECT_EQ(r.rules.sample[1].rules, "/etc/tailor/rules/etl.toml");
}

TEST(ProcessConfig, EverythingThatIsWrongIsToldWithItsLine) {
  const Read r = read(R"([processes]
ignored = []
ignore = ["bin/rsync", 5, {}]
[[processes.sample]]
executable = ""
[[processes.sample]]
uid = -1
[[processes.sample]]
executable = "java"
names = "magic"
[[processes.sample]]
cgroup = "system.slice"
[[processes.sample]]
names = "auto"
[[processes.sample]]
executable = "python3"
rules = "rules/duckdb.toml"
)");
  EXPECT_THAT(r.problems,
              testing::UnorderedElementsAre(
                  HasSubstr("2: there is no key \"ignored\""), HasSubstr("3: \"bin/rsync\" is neither"),
                  HasSubstr("3: \"ignore\" lists"), HasSubstr("3: a rule needs one of"),
                  HasSubstr("5: \"executable\" is a text"), HasSubstr("4: a rule needs one of"),
                  HasSubstr("7: \"uid\" is the number"), HasSubstr("10: \"names\" is one of"),
                  HasSubstr("12: a cgroup begins with"), HasSubstr("13: a rule needs one of"),
                  HasSubstr("17: \"rules\" is an absolute path")));
  EXPECT_THAT(r.rules.ignore, IsEmpty());
  EXPECT_THAT(r.rules.sample, IsEmpty());
}

TEST(ProcessConfig, WhatIsNoListIsTold) {
  EXPECT_THAT(read("[processes]\nignore = \"backup\"\n").problems, ElementsAre("2: \"ignore\" is a list"));
}

}  // namespace
}  // namespace tailor::tailord
