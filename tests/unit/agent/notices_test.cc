// What the agent says of how it is used. Each kind is said once in a process, so each case has a process of
// its own, forked off one that never had an agent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <tailor/tag.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/sanitizers.h"
#include "tests/unit/agent/fake_daemon.h"

namespace tailor::agent::testing {
namespace {

using Body = v1::AgentMessage;

template <typename Case>
void in_process_of_its_own(Case run) {
  const pid_t child = ::fork();
  if (child == 0) {
    run();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

std::vector<std::string> notices() {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; const char* notice = tailor_agent_notice(i); ++i) all.emplace_back(notice);
  return all;
}

bool noticed(const std::string& part) {
  return std::ranges::any_of(notices(),
                             [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

class Notices : public ::testing::Test {
 protected:
  void SetUp() override { TAILOR_SKIP_FORK_UNDER_TSAN(); }

  tailor_agent_options options() const {
    tailor_agent_options options{};
    options.size = sizeof options;
    options.tag_strategy = TAILOR_TAGS_R15;
    options.socket_path = daemon_.path().c_str();
    options.queue_bytes = 4 << 20;
    options.log_records = 256;
    return options;
  }
  int start() const {
    const tailor_agent_options given = options();
    return tailor_agent_start(&given);
  }

  FakeDaemon daemon_;
};

TEST_F(Notices, ThereAreNoneOfRightUse) {
  in_process_of_its_own([this] {
    ASSERT_EQ(start(), 0);
    const tailor_plan_ids plan = tailor_plan_new();
    EXPECT_NE(tailor_tag(&plan, 1, 1), TAILOR_TAG_NONE);
    tailor_execution_end(tailor_execution_begin(plan.id, nullptr, 0), 0, nullptr);
    tailor_agent_stop(0);
    EXPECT_EQ(notices(), std::vector<std::string>());
  });
}

// Each would be an engine that is not profiled as it asks to be, and nobody would know.
TEST_F(Notices, OptionsThatCannotBeAreRefused) {
  const auto refused = [this](auto change, const std::string& why) {
    in_process_of_its_own([&] {
      tailor_agent_options given = options();
      change(given);
      EXPECT_EQ(tailor_agent_start(&given), -EINVAL) << why;
      EXPECT_EQ(tailor_plan_new().id, 0u) << why;
      EXPECT_TRUE(noticed(why)) << why;
      EXPECT_EQ(notices().size(), 1u) << why;
      EXPECT_EQ(start(), 0) << "it can be started rightly then";
    });
  };
  refused([](auto& o) { o.size = 0; }, "have the size 0.");
  refused([](auto& o) { o.size = offsetof(tailor_agent_options, flags) - 1; }, "have the size 51.");
  refused([](auto& o) { o.tag_strategy = TAILOR_TAGS_MEMORY_SLOT + 1; }, "no tag strategy 4 ");
  refused([](auto& o) { o.log_records = 63; }, "log_records is 63,");
  refused([](auto& o) { o.log_records = 65537; }, "log_records is 65537,");
  refused([](auto& o) { o.flags = TAILOR_AGENT_SURVIVES_FORK; }, "TAILOR_AGENT_SURVIVES_FORK needs");
  refused([](auto& o) { o.flags = 4; }, "the sum 4.");
}

TEST_F(Notices, OptionsAtTheirBoundsAreTaken) {
  in_process_of_its_own([this] {
    for (const std::uint32_t records : {0u, 64u, 1000u, 65536u}) {
      tailor_agent_options given = options();
      given.log_records = records;
      EXPECT_EQ(tailor_agent_start(&given), 0) << records;
      tailor_agent_stop(0);
    }
    tailor_agent_options older = options();
    older.size = offsetof(tailor_agent_options, flags);
    EXPECT_EQ(tailor_agent_start(&older), 0);
  });
}

// A part of its number is the number of another operator.
TEST_F(Notices, AnOperatorThatNoTagCanHoldHasNoTag) {
  in_process_of_its_own([this] {
    ASSERT_EQ(start(), 0);
    daemon_.accept();
    const tailor_plan_ids plan = tailor_plan_new();
    const std::uint64_t largest = tailor_tag(&plan, TAILOR_TAG_COMPONENT_MAX, TAILOR_TAG_COMPONENT_MAX);
    EXPECT_EQ(tailor_tag_upper(largest), TAILOR_TAG_COMPONENT_MAX);
    EXPECT_EQ(tailor_tag_lower(largest), TAILOR_TAG_COMPONENT_MAX);
    EXPECT_EQ(tailor_tag(&plan, TAILOR_TAG_COMPONENT_MAX + 1, 0), TAILOR_TAG_NONE);
    EXPECT_EQ(tailor_tag(&plan, TAILOR_TAG_COMPONENT_MAX + 8, 0), TAILOR_TAG_NONE);
    EXPECT_EQ(tailor_tag_make(1, 2, 3, TAILOR_TAG_COMPONENT_MAX + 1, 0), TAILOR_TAG_NONE);
    const std::uint64_t upper_alone = tailor_tag(&plan, 7, TAILOR_TAG_COMPONENT_MAX + 1);
    EXPECT_EQ(tailor_tag_upper(upper_alone), 7u);
    EXPECT_EQ(tailor_tag_lower(upper_alone), 0u);
    const std::string text = daemon_.until(Body::kNotice).message.notice().text();
    EXPECT_NE(text.find("component 16384."), std::string::npos) << text;
    EXPECT_EQ(notices(), std::vector<std::string>{text});
    daemon_.close_connection();
    daemon_.accept();
    EXPECT_EQ(daemon_.until(Body::kNotice).message.notice().text(), text) << "a daemon that comes later";
  });
}

TEST_F(Notices, AnExecutionThatNothingTellsTheOperatorsOf) {
  const auto is_said = [this](bool expected, auto prepare) {
    in_process_of_its_own([&] {
      ASSERT_EQ(start(), 0);
      const tailor_plan_ids plan = tailor_plan_new();
      prepare(plan);
      EXPECT_FALSE(noticed("no tag (tailor_tag)"));
      tailor_execution_end(tailor_execution_begin(plan.id, nullptr, 0), 0, nullptr);
      EXPECT_EQ(noticed("no tag (tailor_tag)"), expected);
    });
  };
  is_said(true, [](const tailor_plan_ids&) {});
  is_said(true, [](const tailor_plan_ids&) {
    tailor_execution_end(tailor_execution_begin(0, nullptr, 0), 0, nullptr);  // of no plan
  });
  is_said(false, [](const tailor_plan_ids& plan) { tailor_tag(&plan, 1, 1); });
  is_said(false, [](const tailor_plan_ids&) { tailor_code_load(tailor_code_new(), "", 0); });
}

TEST_F(Notices, ARegisterThatIsNotKeptIfTagsAreThere) {
  const std::string path = std::string(1000, 'x') + "/engine.cc";
  const auto is_said = [&](bool expected, std::uint32_t strategy, bool late) {
    in_process_of_its_own([&] {
      if (!late) tailor_tag_not_kept(strategy, path.c_str());
      ASSERT_EQ(start(), 0);
      if (late) tailor_tag_not_kept(strategy, path.c_str());
      EXPECT_EQ(noticed("x/engine.cc includes"), expected);
      EXPECT_EQ(noticed("TAILOR_TAGS_MEMORY_SLOT."), expected) << "the whole text";
      if (!expected) return;
      daemon_.accept();
      EXPECT_EQ(notices(), std::vector<std::string>{daemon_.until(Body::kNotice).message.notice().text()});
    });
  };
  is_said(true, TAILOR_TAGS_R15, false);
  is_said(true, TAILOR_TAGS_R15, true);
  is_said(false, TAILOR_TAGS_SWIFTSELF, false);
  is_said(false, TAILOR_TAGS_MEMORY_SLOT, true);
}

TEST_F(Notices, AForkedChildIsToldWhyItIsNotProfiled) {
  in_process_of_its_own([this] {
    ASSERT_EQ(start(), 0);
    in_process_of_its_own([] { EXPECT_TRUE(noticed("forked child")); });
    EXPECT_FALSE(noticed("forked child")) << "the parent";
  });
}

}  // namespace
}  // namespace tailor::agent::testing
