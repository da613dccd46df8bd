#include "daemon/session/process_rules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tailor::session {
namespace {

const ProcessFacts kFacts{"/usr/bin/python3", "/system.slice/etl.service/worker", 1000};

TEST(ProcessRules, ExecutablesMatchByPathOrByName) {
  EXPECT_TRUE(matches({"/usr/bin/python3", "", {}}, kFacts));
  EXPECT_TRUE(matches({"python3", "", {}}, kFacts));
  EXPECT_FALSE(matches({"python", "", {}}, kFacts));
  EXPECT_FALSE(matches({"/bin/python3", "", {}}, kFacts));
  ProcessFacts replaced = kFacts;
  replaced.executable += " (deleted)";
  EXPECT_TRUE(matches({"python3", "", {}}, replaced));
}

TEST(ProcessRules, ACgroupHoldsThoseBelowIt) {
  EXPECT_TRUE(matches({"", "/system.slice/etl.service", {}}, kFacts));
  EXPECT_TRUE(matches({"", "/system.slice/etl.service/worker/", {}}, kFacts));
  EXPECT_TRUE(matches({"", "/", {}}, kFacts));
  EXPECT_FALSE(matches({"", "/system.slice/etl", {}}, kFacts));
}

TEST(ProcessRules, AllThatIsSetMustHold) {
  EXPECT_TRUE(matches({"python3", "/system.slice", 1000}, kFacts));
  EXPECT_FALSE(matches({"python3", "/system.slice", 1001}, kFacts));
  EXPECT_FALSE(matches({"java", "/system.slice", 1000}, kFacts));
}

TEST(ProcessRules, TheFirstRuleCountsAndIgnoringGoesBeforeAll) {
  ProcessRules rules;
  rules.sample = {{{"", "", 1000}, NamesFrom::kPerfMap}, {{"python3", "", {}}, NamesFrom::kFunctions}};
  ASSERT_NE(rule_for(rules, kFacts), nullptr);
  EXPECT_EQ(rule_for(rules, kFacts)->names, NamesFrom::kPerfMap);
  rules.ignore = {{"", "/system.slice", {}}};
  EXPECT_EQ(rule_for(rules, kFacts), nullptr);
  EXPECT_TRUE(is_ignored(rules, kFacts));
}

TEST(ProcessRules, ThreadsOfTheKernelAreNotSampled) {
  ProcessRules rules;
  rules.sample = {{{"", "", 0}, NamesFrom::kAuto}};
  EXPECT_EQ(rule_for(rules, {"", "/", 0}), nullptr);
}

TEST(ProcessRules, FactsAreThoseOfTheKernel) {
  const auto facts = facts_of(os::real(), ::getpid());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->uid, ::geteuid());
  EXPECT_TRUE(facts->executable.ends_with("/session_test")) << facts->executable;
  EXPECT_FALSE(facts_of(os::real(), 0x7FFFFFF0));
  const auto pids = pids_of_host(os::real());
  EXPECT_NE(std::ranges::find(pids, ::getpid()), pids.end());
}

}  // namespace
}  // namespace tailor::session
