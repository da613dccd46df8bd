#include "daemon/tailord/trigger_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tailord {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Read {
  TriggerRules rules;
  std::vector<std::string> problems;  // with their lines
};

Read read(const char* text) {
  Read out;
  const toml::table file = toml::parse(text);
  out.rules = read_triggers(*file["triggers"].as_table(),
                            [&](const toml::source_region& where, const std::string& what) {
                              out.problems.push_back(std::to_string(where.begin.line) + ": " + what);
                            });
  return out;
}

TEST(TriggerConfig, RulesAreRead) {
  const Read r = read(R"([[triggers.raise]]
name = "slow"
slower-than-usual = 3
process = "weft"
frequency = 997
for = "1m"
cool-down = "10m"
budget = "20m"
[[triggers.raise]]
name = "traced"
label = "trace=yes"
frequency = 500
[[triggers.raise]]
name = "any"
label = "trace"
fingerprint = "9c1e"
frequency = 500
[[triggers.raise]]
name = "one"
execution = "3f2a"
frequency = 500
for = "30m"
[[triggers.raise]]
name = "locked"
wait-longer-than = "500ms"
wait = "Lock"
run-queue-above = 12.5
frequency = 500
[[triggers.raise]]
name = "busy"
run-queue-above = 64
frequency = 500
[[triggers.raise]]
name = "chains"
fingerprint = "9c1e"
callchain = true
[[triggers.raise]]
name = "all"
process = "weft"
frequency = 250
memory = true
callchain = false
)");
  EXPECT_THAT(r.problems, IsEmpty());
  ASSERT_EQ(r.rules.size(), 8u);
  EXPECT_EQ(r.rules[5].raise, (Raise{500, false, false}));
  EXPECT_EQ(r.rules[6].raise, (Raise{0, true, false})) << "the rate stays";
  EXPECT_EQ(r.rules[7].raise, (Raise{250, false, true}));
  EXPECT_EQ(r.rules[0].slower_than_usual, 3);
  EXPECT_EQ(r.rules[0].process, "weft");
  EXPECT_EQ(r.rules[0].raise.frequency, 997u);
  EXPECT_EQ(r.rules[0].lasts, 60'000'000'000);
  EXPECT_EQ(r.rules[0].cool_down, 600'000'000'000);
  EXPECT_EQ(r.rules[1].label_key, "trace");
  EXPECT_EQ(r.rules[1].label_value, "yes");
  EXPECT_EQ(r.rules[1].lasts, TriggerRule().lasts);
  EXPECT_EQ(r.rules[2].label_value, std::nullopt);
  EXPECT_EQ(r.rules[2].fingerprint, "9c1e");
  EXPECT_EQ(r.rules[0].budget, 1'200'000'000'000);
  EXPECT_EQ(r.rules[1].budget, TriggerRule().budget);
  EXPECT_EQ(r.rules[3].execution, "3f2a");
  EXPECT_EQ(r.rules[3].budget, r.rules[3].lasts) << "a trigger may hold once";
  EXPECT_EQ(r.rules[4].wait_longer_than, 500'000'000);
  EXPECT_EQ(r.rules[4].wait, "Lock");
  EXPECT_EQ(r.rules[4].run_queue_above, 12.5);
  EXPECT_EQ(r.rules[5].run_queue_above, 64);
  EXPECT_EQ(r.rules[5].wait_longer_than, std::nullopt);
}

TEST(TriggerConfig, EverythingThatIsWrongIsToldWithItsLine) {
  const Read r = read(R"([triggers]
lower = 1
[[triggers.raise]]
frequency = 0
label = "=x"
[[triggers.raise]]
name = "a"
slower-than-usual = 0.5
frequency = 100
for = "2h"
[[triggers.raise]]
name = "b"
frequency = 100
[[triggers.raise]]
name = "c"
process = "weft"
frequency = 100
[[triggers.raise]]
name = "c"
process = "weft"
frequency = 100
when = "soon"
[[triggers.raise]]
name = "d"
execution = "3F2A"
frequency = 100
[[triggers.raise]]
name = "e"
process = "weft"
frequency = 100
for = "2m"
budget = "1m"
)");
  EXPECT_THAT(
      r.problems,
      UnorderedElementsAre(HasSubstr("2: there is no key \"lower\""), HasSubstr("3: a trigger needs a name"),
                           HasSubstr("3: a trigger needs one of"), HasSubstr("5: a label is given as"),
                           HasSubstr("4: a trigger needs a \"frequency\""),
                           HasSubstr("8: \"slower-than-usual\" is"), HasSubstr("6: a trigger needs one of"),
                           HasSubstr("10: \"for\" is a time"), HasSubstr("11: a trigger needs one of"),
                           HasSubstr("18: there are two triggers"), HasSubstr("22: there is no key \"when\""),
                           HasSubstr("25: an execution is named by 4 to 32"),
                           HasSubstr("27: \"budget\" (60 s an hour) is less than \"for\" (120 s)")));
  ASSERT_EQ(r.rules.size(), 1u);
  EXPECT_EQ(r.rules[0].name, "c");
}

TEST(TriggerConfig, WhatSamplesBringIsTrueOrFalse) {
  const Read r = read(R"([[triggers.raise]]
name = "a"
process = "weft"
frequency = 100
callchain = "always"
[[triggers.raise]]
name = "b"
process = "weft"
memory = false
)");
  EXPECT_THAT(r.problems, UnorderedElementsAre(HasSubstr("5: \"callchain\" is true or false"),
                                               HasSubstr("6: a trigger needs a \"frequency\"")));
  EXPECT_THAT(r.rules, IsEmpty());
}

TEST(TriggerConfig, WrongWaitsAndRunQueuesAreTold) {
  const Read r = read(R"([[triggers.raise]]
name = "a"
process = "weft"
wait = "lock"
frequency = 100
[[triggers.raise]]
name = "b"
wait-longer-than = "2h"
frequency = 100
[[triggers.raise]]
name = "c"
wait-longer-than = "1s"
slower-than-usual = 3
frequency = 100
[[triggers.raise]]
name = "d"
process = "weft"
run-queue-above = 0
frequency = 100
[[triggers.raise]]
name = "e"
process = "weft"
run-queue-above = "many"
frequency = 100
[[triggers.raise]]
name = "f"
process = "weft"
wait = "run_queue"
wait-longer-than = "1s"
frequency = 100
)");
  EXPECT_THAT(r.problems, UnorderedElementsAre(HasSubstr("4: \"wait\" says which waits"),
                                               HasSubstr("8: \"wait-longer-than\" is a time"),
                                               HasSubstr("6: a trigger needs one of"),
                                               HasSubstr("12: a trigger has \"wait-longer-than\" or"),
                                               HasSubstr("18: \"run-queue-above\" is a number"),
                                               HasSubstr("28: a thread in the run queue waits for nothing"),
                                               HasSubstr("23: \"run-queue-above\" is a number")));
  EXPECT_THAT(r.rules, IsEmpty());
}

TEST(TriggerConfig, WhatIsNoListIsTold) {
  EXPECT_THAT(read("[triggers]\nraise = 5\n").problems,
              UnorderedElementsAre(HasSubstr("2: \"raise\" is a list")));
}

}  // namespace
}  // namespace tailor::tailord
