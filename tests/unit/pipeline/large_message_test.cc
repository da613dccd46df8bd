// A large message that another thread has checked says what the same message says otherwise.
#include <gtest/gtest.h>

#include "daemon/pipeline/checked_message.h"
#include "tests/support/text_sink.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

constexpr ProcessId kEngine{42, 7};

// Small messages become large ones, `checked` or not.
class AsLarge {
 public:
  AsLarge(Pipeline& pipeline, bool checked) : pipeline_(pipeline), checked_(checked) {}

  void load(TimeNs time, const v1::Plan& plan) {
    v1::AgentMessage message;
    *message.mutable_plan_load() = plan;
    say(time, message);
  }
  void load(TimeNs time, const v1::CodeObject& code) {
    v1::AgentMessage message;
    *message.mutable_code_load() = code;
    say(time, message);
  }
  void speaks_by(registration::ConnectionId connection) { connection_ = connection; }

 private:
  void say(TimeNs time, const v1::AgentMessage& message) {
    registration::PeerMessage event{connection_, kEngine, static_cast<std::uint64_t>(time) + 50};
    event.large = std::make_shared<registration::LargeMessage>(nullptr);
    event.large->message() = message;
    event.large->message().set_tsc(static_cast<std::uint64_t>(time));
    if (checked_) event.large->prepared = check_message(event.large->message(), {});
    pipeline_.on_message(event);
  }

  Pipeline& pipeline_;
  bool checked_;
  registration::ConnectionId connection_ = 1;
};

class AsSmall {
 public:
  explicit AsSmall(test::ScriptedInput& script) : script_(script) {}
  template <typename Dictionary>
  void load(TimeNs time, const Dictionary& dictionary) {
    script_.load(kEngine, time, dictionary);
  }
  void speaks_by(registration::ConnectionId) {}  // the script knows who said hello last

 private:
  test::ScriptedInput& script_;
};

v1::CodeObject with_component(CodeId id, std::uint64_t base, std::uint32_t component) {
  return test::small_code(id, 1, base, 16, {{0, component << 1}});
}

// Plans, code, what came late, what is wrong, and samples right behind the messages.
template <typename Says>
std::vector<std::string> story(Pipeline& pipeline, test::ScriptedInput& script, Says says,
                               test::TextSink& sink) {
  script.hello(kEngine, 1, 1000);
  says.load(2000, test::small_plan(1));
  says.load(2000, test::small_code(11, 1, 0x10000));
  script.sample(42, 43, 2100, 0x10000 + 20);
  script.read();
  says.load(3000, with_component(12, 0x20000, 7));  // of six
  v1::CodeObject sets = with_component(13, 0x30000, 1);
  sets.mutable_rows()->add_link_sets()->add_ids(7);
  says.load(3000, sets);
  says.load(3000, test::small_code(14, 9, 0x40000));  // of no plan that is known
  says.load(3000, test::small_plan(1));               // again
  v1::Plan cyclic = test::small_plan(3, 3);
  cyclic.mutable_levels(0)->mutable_components(0)->add_inputs(2);
  says.load(3000, cyclic);
  pipeline.flush(1'000'000);
  says.load(4000, test::small_plan(2, 2));  // samples up to then were given out
  says.load(4000, test::small_code(21, 2, 0x50000));
  pipeline.flush(2'000'000);
  script.hello(kEngine, 2, 2'001'000, "another agent");
  says.speaks_by(2);
  says.load(2'002'000, test::small_plan(1));
  says.load(2'002'000, test::small_code(11, 1, 0x60000));
  script.sample(42, 43, 2'002'100, 0x60000 + 20);
  script.read();
  pipeline.flush(3'000'000);
  std::vector<std::string> said = sink.records;
  said.insert(said.end(), sink.samples.begin(), sink.samples.end());
  for (const Problem& each : pipeline.take_problems()) said.push_back(each.text);
  return said;
}

template <typename MakeSays>
std::vector<std::string> story_of(MakeSays make) {
  test::TextSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
  script.open();
  return story(pipeline, script, make(pipeline, script), sink);
}

TEST(LargeMessage, SaysWhatTheSameMessageSaysOtherwise) {
  const auto small = story_of([](Pipeline&, test::ScriptedInput& script) { return AsSmall(script); });
  const auto large =
      story_of([](Pipeline& pipeline, test::ScriptedInput&) { return AsLarge(pipeline, false); });
  const auto checked =
      story_of([](Pipeline& pipeline, test::ScriptedInput&) { return AsLarge(pipeline, true); });
  EXPECT_EQ(large, small);
  EXPECT_EQ(checked, small);
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(small, [&](const std::string& each) { return each.find(text) != each.npos; });
  };
  EXPECT_TRUE(has("code object 12: row 0: link 14 leads nowhere"));
  EXPECT_TRUE(has("code object 13: a link set names component 7 of 6"));
  EXPECT_TRUE(has("code object 14: its plan 9 is not loaded"));
  EXPECT_TRUE(has("form a cycle"));
  EXPECT_TRUE(has("late_until"));
}

// Whether the message was looked at a second time would show here: the verdict is wrong.
TEST(LargeMessage, TheVerdictOfTheOtherThreadCounts) {
  test::TextSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
  script.open();
  script.hello(kEngine, 1, 1000);
  registration::PeerMessage event{1, kEngine, 3000};
  event.large = std::make_shared<registration::LargeMessage>(nullptr);
  *event.large->message().mutable_plan_load() = test::small_plan(1);
  auto wrong = std::make_unique<CheckedMessage>();
  wrong->plan.emplace(invalid("plan 1: refused elsewhere"));
  event.large->prepared = std::move(wrong);
  pipeline.on_message(event);
  const auto problems = pipeline.take_problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text, "plan 1: refused elsewhere");
}

}  // namespace
}  // namespace tailor::pipeline
