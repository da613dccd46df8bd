// Samples that bring from the slot of their thread for whom it works.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

using profile::How;

class SlotStatesTest : public testing::Test {
 protected:
  static constexpr ProcessId kProcess{42, 7};
  static constexpr std::int32_t kThread = 44;
  static constexpr std::uint64_t kOutside = 0x7f00'0000'0000, kCode = 0x10000;
  static constexpr tailor_thread_state kUnread = {TAILOR_NO_STATE, capture::kSlotUnread, 0},
                                       kNone = {TAILOR_NO_STATE, capture::kNoSlot, 0};
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }

  // The log says that the thread works for execution 5 from 2 ms to 8 ms, all the samples are of registered
  // code. `also`: samples with such fields come as events.
  void start(std::uint64_t also, PipelineOptions options = {}) {
    sink = {};
    pipeline = std::make_unique<Pipeline>(sink, options);
    script = std::make_unique<test::ScriptedInput>(*pipeline, also, true);
    script->open();
    script->hello(kProcess, 1, 1000);
    script->load(kProcess, 1000, test::small_plan(1));
    script->load(kProcess, 1000, test::small_code(11, 1, kCode));
    script->work(kProcess, kThread, ms(2), ms(8), 5, 1);
  }
  void sample(TimeNs time, const tailor_thread_state& state, std::uint64_t ip = kCode + 16) {
    script->slot_says(state);
    script->sample(42, kThread, time, ip);
  }
  void finish() {
    script->read();
    pipeline->flush(ms(20));
  }
  const profile::Attribution& at(std::size_t i) const { return sink.samples.at(i).attribution; }

  static constexpr std::uint64_t kWays[] = {0, PERF_SAMPLE_CALLCHAIN};

  test::CollectingSink sink;
  std::unique_ptr<Pipeline> pipeline;
  std::unique_ptr<test::ScriptedInput> script;
};

TEST_F(SlotStatesTest, AreBelievedBeforeTheLog) {
  for (std::uint64_t also : kWays) {
    start(also);
    sample(ms(3), {6, 1, 0x4'0000'0000});
    sample(ms(4), {6, 1, 0x5'0000'0000});
    sample(ms(5), {0, 0, 0});
    sample(ms(6), {0, 0, 9}, kOutside);
    sample(ms(9), {7, 1, 0});
    finish();
    ASSERT_EQ(sink.samples.size(), 5u);
    EXPECT_EQ(at(0).execution, 6u);
    EXPECT_EQ(at(0).pipeline, 4u);
    EXPECT_EQ(at(0).how, How::kCode);
    EXPECT_EQ(at(1).pipeline, 5u);
    EXPECT_EQ(at(2).execution, 0u) << "the slot says: for nobody";
    EXPECT_EQ(at(3).engine_component, 9u);
    EXPECT_EQ(at(3).how, How::kComponentInterval);
    EXPECT_EQ(at(4).execution, 7u) << "after what the log says";
    const profile::Accounting& account = sink.accounting.at(kProcess);
    EXPECT_EQ(account.slot_states, 5u);
    EXPECT_EQ(account.slots_missing + account.slots_unread, 0u);
  }
}

TEST_F(SlotStatesTest, WithoutOneTheLogSaysItAndTheReasonIsCounted) {
  for (std::uint64_t also : kWays) {
    start(also);
    sample(ms(1), kNone);
    sample(ms(3), kNone);
    sample(ms(4), {6, 1, 0});
    sample(ms(5), kUnread);
    sample(ms(9), kUnread);
    sample(ms(10), {TAILOR_NO_STATE, 77, 0});
    finish();
    ASSERT_EQ(sink.samples.size(), 6u);
    EXPECT_EQ(at(0).execution, 0u);
    EXPECT_EQ(at(1).execution, 5u);
    EXPECT_EQ(at(2).execution, 6u);
    EXPECT_EQ(at(3).execution, 5u);
    EXPECT_EQ(at(4).execution, 0u) << "the log has changed since the sample before";
    EXPECT_EQ(at(5).execution, 0u);
    const profile::Accounting& account = sink.accounting.at(kProcess);
    EXPECT_EQ(account.slot_states, 1u);
    EXPECT_EQ(account.slots_missing, 2u);
    EXPECT_EQ(account.slots_unread, 2u);
  }
}

// What no agent could have said.
TEST_F(SlotStatesTest, OfAProcessWithoutAnAgentAreNotBelieved) {
  for (std::uint64_t also : kWays) {
    start(also);
    script->forks(kProcess.pid, 77, ms(2));
    script->slot_says({6, 1, 9});
    script->sample(77, 78, ms(3), kOutside);
    finish();
    ASSERT_EQ(sink.samples.size(), 1u);
    EXPECT_EQ(at(0).execution, 0u);
    EXPECT_EQ(at(0).engine_component, 0u);
    EXPECT_EQ(at(0).reason, profile::Reason::kNotRegistered);
  }
}

TEST_F(SlotStatesTest, AreNotUsedWhereTheLogsAreAskedFor) {
  for (std::uint64_t also : kWays) {
    PipelineOptions options;
    options.slot_states = false;
    start(also, options);
    sample(ms(3), {6, 1, 0});
    sample(ms(9), {7, 1, 0});
    finish();
    EXPECT_EQ(at(0).execution, 5u);
    EXPECT_EQ(at(1).execution, 0u);
    EXPECT_EQ(sink.accounting.at(kProcess).slot_states, 0u);
  }
}

}  // namespace
}  // namespace tailor::pipeline
