#include "daemon/session/process_rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/fake_os.h"

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

TEST(ProcessRules, AProcessIsKnownByWhatItIsCalledToo) {
  ProcessFacts facts = kFacts;
  facts.executable = "/usr/bin/python3.11";
  facts.called = {"python3", "./job.py"};
  EXPECT_TRUE(matches({"python3", "", {}}, facts));
  EXPECT_TRUE(matches({"job.py", "", {}}, facts));
  EXPECT_FALSE(matches({"python", "", {}}, facts));
  EXPECT_FALSE(matches({"/usr/bin/python3", "", {}}, facts));
  facts.leads_to_executable = [](const std::string& path) { return path == "/usr/bin/python3"; };
  EXPECT_TRUE(matches({"/usr/bin/python3", "", {}}, facts)) << "a link to the file";
  EXPECT_FALSE(matches({"/opt/python3", "", {}}, facts));
}

// A /proc of our making: a process that runs `executable` with a command line.
class CalledTest : public testing::Test {
 protected:
  CalledTest() : root_(std::filesystem::path(testing::TempDir()) / ("called_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "files/usr/bin");
    std::filesystem::create_directories(root_ / "files/home");
  }
  ~CalledTest() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& content) const {
    std::ofstream(root_ / "files" / path) << content;
  }
  // Arguments end with a zero byte each.
  void process(const std::string& executable, std::vector<std::string> arguments) const {
    const auto directory = os_.proc() / "100";
    std::filesystem::create_directories(directory);
    std::filesystem::create_symlink(executable, directory / "exe");
    std::filesystem::create_directory_symlink(root_ / "files", directory / "root");
    std::filesystem::create_directory_symlink(root_ / "files/home", directory / "cwd");
    std::ofstream line(directory / "cmdline");
    for (const std::string& each : arguments) line << each << '\0';
  }
  bool is(const std::string& executable) const {
    const auto facts = facts_of(os_, 100);
    return facts && matches({executable, "", {}}, *facts);
  }

  std::filesystem::path root_;
  test::FakeOs os_;
};

TEST_F(CalledTest, ByTheLinkThatItWasStartedBy) {
  file("usr/bin/python3.11", "ELF");
  std::filesystem::create_symlink("python3.11", root_ / "files/usr/bin/python3");
  process((root_ / "files/usr/bin/python3.11").string(), {"python3", "-c", "pass"});
  EXPECT_TRUE(is("python3"));
  EXPECT_TRUE(is("python3.11"));
  EXPECT_TRUE(is("/usr/bin/python3")) << "a link, in the process's own view of the files";
  EXPECT_FALSE(is("/usr/bin/perl"));
  EXPECT_FALSE(is("pass"));
}

TEST_F(CalledTest, ByTheScriptThatItRuns) {
  file("home/job.py", "#!/usr/bin/env python3\nprint()\n");
  process("/usr/bin/python3.11", {"python3", "-u", "job.py", "other.py"});
  EXPECT_TRUE(is("job.py"));
  EXPECT_FALSE(is("other.py"));
}

TEST_F(CalledTest, WhoHasAScriptOpenIsNotIt) {
  file("home/job.py", "#!/usr/bin/env python3\nprint()\n");
  process("/usr/bin/vim.basic", {"vim", "job.py"});
  EXPECT_FALSE(is("job.py"));
  EXPECT_TRUE(is("vim"));
}

TEST_F(CalledTest, ByTheProgramOfTheDynamicLinker) {
  process("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
          {"/lib64/ld-linux-x86-64.so.2", "/opt/engine/bin/query", "x"});
  EXPECT_TRUE(is("query"));
  EXPECT_TRUE(is("/opt/engine/bin/query"));
  EXPECT_FALSE(is("x"));
}

// A process writes its command line itself.
TEST_F(CalledTest, HostileCommandLinesAreBounded) {
  ASSERT_EQ(::mkfifo((root_ / "files/home/pipe").c_str(), 0600), 0);
  process("/usr/bin/x", {"y", "pipe", std::string(1 << 20, 'a')});
  EXPECT_TRUE(is("y"));
  EXPECT_FALSE(is("pipe")) << "and nobody waits for a writer";
}

}  // namespace
}  // namespace tailor::session
