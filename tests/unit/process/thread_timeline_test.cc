#include "daemon/process/thread_timeline.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace tailor::process {
namespace {

tailor_log_record mark(tailor_log_kind kind, std::uint32_t id, std::uint64_t a = 0, std::uint64_t b = 0) {
  tailor_log_record record{};
  record.kind = static_cast<std::uint16_t>(kind);
  record.id = id;
  record.a = a;
  record.b = b;
  return record;
}

TEST(ThreadTimeline, SaysWhatWasOpenAtATime) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 7, 3), 100);
  line.add(mark(TAILOR_LOG_PIPELINE_BEGIN, 2), 110);
  line.add(mark(TAILOR_LOG_MORSEL_BEGIN, 2, 0, 1000), 120);
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 5), 130);
  line.add(mark(TAILOR_LOG_COMPONENT_END, 5), 140);
  line.add(mark(TAILOR_LOG_MORSEL_END, 2), 150);
  line.add(mark(TAILOR_LOG_PIPELINE_END, 2), 160);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 7), 170);
  EXPECT_EQ(line.change_after(0), 100);
  EXPECT_EQ(line.change_after(100), 110);
  EXPECT_EQ(line.change_after(200), kTimeMax);
  EXPECT_EQ(line.change_after(169), 170);
  EXPECT_EQ(line.change_after(109), 110);
  EXPECT_EQ(ThreadTimeline({}).change_after(5), kTimeMax);
  EXPECT_EQ(line.at(99), ThreadContext{});
  EXPECT_EQ(line.at(100), (ThreadContext{7, 3, 0, 0}));
  EXPECT_EQ(line.at(115), (ThreadContext{7, 3, 2, 0}));
  EXPECT_EQ(line.at(135), (ThreadContext{7, 3, 2, 5}));
  EXPECT_EQ(line.at(145), (ThreadContext{7, 3, 2, 0}));
  EXPECT_EQ(line.at(165), (ThreadContext{7, 3, 0, 0}));
  EXPECT_EQ(line.at(170), ThreadContext{});
  EXPECT_EQ(line.unmatched(), 0u);
}

TEST(ThreadTimeline, AComponentPausesWhileOperatorsWork) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 9), 90);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 7, 3), 100);
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 5), 110);
  line.add(mark(TAILOR_LOG_PIPELINE_BEGIN, 2), 115);
  line.add(mark(TAILOR_LOG_MORSEL_BEGIN, 2, 0, 1000), 120);
  line.add(mark(TAILOR_LOG_MORSEL_END, 2), 130);
  line.add(mark(TAILOR_LOG_PIPELINE_END, 2), 140);
  line.add(mark(TAILOR_LOG_COMPONENT_END, 5), 150);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 7), 160);
  EXPECT_EQ(line.at(95).component, 9u);
  EXPECT_EQ(line.at(105).component, 0u);
  EXPECT_EQ(line.at(117).component, 5u);
  EXPECT_EQ(line.at(125).component, 0u);
  EXPECT_EQ(line.at(135).component, 5u);
  EXPECT_EQ(line.at(155).component, 0u);
  EXPECT_EQ(line.at(165).component, 9u);
}

TEST(ThreadTimeline, AnotherExecutionMayBeNested) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  line.add(mark(TAILOR_LOG_PIPELINE_BEGIN, 4), 105);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 2, 20), 110);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 2), 120);
  EXPECT_EQ(line.at(115), (ThreadContext{2, 20, 0, 0}));
  EXPECT_EQ(line.at(125), (ThreadContext{1, 10, 4, 0}));
}

TEST(ThreadTimeline, AnEndClosesWhatWasLeftOpenInside) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  line.add(mark(TAILOR_LOG_PIPELINE_BEGIN, 4), 105);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 1), 110);
  EXPECT_EQ(line.at(110), ThreadContext{});
  EXPECT_TRUE(line.at(109).pipeline == 4);
}

TEST(ThreadTimeline, EndsWithoutBeginAreCountedAndHarmless) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_PIPELINE_END, 4), 100);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 110);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 2), 120);
  EXPECT_EQ(line.at(125).execution, 1u);
  EXPECT_EQ(line.unmatched(), 2u);
}

TEST(ThreadTimeline, TimesThatRunBackwardDoNotReorder) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 1), 50);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 2, 10), 120);
  EXPECT_EQ(line.at(60).execution, 0u);
  EXPECT_EQ(line.at(110).execution, 0u);
  EXPECT_EQ(line.at(120).execution, 2u);
}

TEST(ThreadTimeline, AResetDoesNotUndoWhatIsLater) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  line.reset(50);
  EXPECT_EQ(line.at(110).execution, 1u);
  line.reset(120);
  EXPECT_EQ(line.at(119).execution, 1u);
  EXPECT_EQ(line.at(120).execution, 0u);
}

// The message that says that a thread has ended may be read before the last part of its log.
TEST(ThreadTimeline, MarksThatAreReadAfterTheEndOfTheirThreadStay) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  line.reset(500);
  EXPECT_EQ(line.at(200).execution, 1u);
  EXPECT_EQ(line.change_after(200), 500);
  EXPECT_EQ(line.change_after(500), kTimeMax);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 1), 200);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 2, 10), 300);
  EXPECT_EQ(line.at(199).execution, 1u);
  EXPECT_EQ(line.at(250).execution, 0u);
  EXPECT_EQ(line.at(499).execution, 2u);
  EXPECT_EQ(line.at(500).execution, 0u);
  EXPECT_EQ(line.change_after(300), 500);
  EXPECT_FALSE(line.idle());
  // The next thread with this id.
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 3, 10), 600);
  EXPECT_EQ(line.at(499).execution, 2u);
  EXPECT_EQ(line.at(550).execution, 0u);
  EXPECT_EQ(line.at(600).execution, 3u);
  EXPECT_EQ(line.change_after(300), 500);
  line.reset(700);
  line.trim(1000);
  EXPECT_TRUE(line.idle());
}

TEST(ThreadTimeline, AThreadMayMarkItsWorkBeforeItIsToldOf) {
  ThreadTimeline line({});
  line.restart(200);
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 1, 10), 100);
  EXPECT_EQ(line.at(150).execution, 1u);
  EXPECT_EQ(line.at(250).execution, 1u);
  // Another thread: what the first left open is not its work.
  line.restart(300);
  EXPECT_EQ(line.at(299).execution, 1u);
  EXPECT_EQ(line.at(300).execution, 0u);
}

TEST(ThreadTimeline, TrimKeepsWhatHolds) {
  ThreadTimeline line({});
  for (int i = 0; i < 1000; ++i) {
    line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, static_cast<std::uint64_t>(i + 1), 1), i * 10);
    line.add(mark(TAILOR_LOG_EXECUTION_END, 0, static_cast<std::uint64_t>(i + 1)), i * 10 + 5);
  }
  line.trim(5002);
  EXPECT_EQ(line.at(5002).execution, 501u);
  EXPECT_EQ(line.at(9992).execution, 1000u);
  line.trim(kTimeMax);
  EXPECT_TRUE(line.idle());
}

TEST(ThreadTimeline, IsBounded) {
  Limits limits;
  limits.thread_changes = 100;
  limits.nesting = 4;
  ThreadTimeline line(limits);
  for (int i = 0; i < 10000; ++i) {
    line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, static_cast<std::uint32_t>(i % 3 + 1)), i);
    EXPECT_LE(line.changes(), 100u);
  }
  EXPECT_EQ(line.unmatched(), 10000u - 4);
  for (int i = 0; i < 10000; ++i) {
    line.add(mark(i % 2 == 0 ? TAILOR_LOG_EXECUTION_END : TAILOR_LOG_PIPELINE_END, 9, 9), 20000 + i);
  }
  ThreadTimeline busy(limits);
  for (int i = 0; i < 1000; ++i) {
    busy.add(mark(i % 2 == 0 ? TAILOR_LOG_COMPONENT_BEGIN : TAILOR_LOG_COMPONENT_END, 1), i);
  }
  EXPECT_EQ(busy.changes(), 100u);
  EXPECT_EQ(busy.forgotten_early(), 900u);
  EXPECT_EQ(busy.at(998).component, 1u);
}

TEST(ThreadTimeline, TheOrderOfQuestionsDoesNotMatter) {
  std::mt19937 random(3);
  ThreadTimeline line({});
  std::vector<std::pair<TimeNs, ThreadContext>> naive;
  for (TimeNs time = 10; time <= 2000; time += static_cast<TimeNs>(random() % 5)) {
    line.add(mark(TAILOR_LOG_PIPELINE_BEGIN, static_cast<std::uint32_t>(time)), time);
    line.add(mark(TAILOR_LOG_PIPELINE_END, static_cast<std::uint32_t>(time)), time + 1);
    naive.push_back({time, line.at(time)});
    naive.push_back({time + 1, {}});
    time += 1;
  }
  TimeNs least = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool forward = random() % 4 != 0;
    const TimeNs time = forward ? least + i % 200 * 10 : static_cast<TimeNs>(random() % 2100);
    if (i == 10'000) line.trim(least = 1000);
    if (time < least) continue;
    ThreadContext expected;
    for (const auto& [from, context] : naive) {
      if (from <= time) expected = context;
    }
    ASSERT_EQ(line.at(time), expected) << time;
  }
}

TEST(ThreadTimeline, NothingIsKnownBetweenTheLastRecordAndWhatTheNextOnesSay) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 7, 3), 100);
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 5), 110);
  line.seen(120);  // a record of a region
  line.lose();
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 6), 200);
  line.add(mark(TAILOR_LOG_COMPONENT_END, 6), 210);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 7), 220);
  EXPECT_EQ(line.at(115).component, 5u);
  for (TimeNs time : {120, 150, 199, 215}) {
    EXPECT_TRUE(line.at(time).component_lost && line.at(time).execution_lost) << time;
    EXPECT_EQ(line.at(time).component, 0u) << time;
    EXPECT_EQ(line.at(time).execution, 0u) << time;
  }
  EXPECT_EQ(line.at(205).component, 6u);
  EXPECT_FALSE(line.at(205).component_lost);
  EXPECT_TRUE(line.at(205).execution_lost) << "it may be another execution's component";
  EXPECT_EQ(line.at(220), ThreadContext{}) << "the thread is outside of executions";
}

TEST(ThreadTimeline, AnExecutionThatBeginsAfterLostMarksIsKnown) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 7, 3), 100);
  line.lose();
  line.add(mark(TAILOR_LOG_EXECUTION_BEGIN, 0, 8, 4), 200);
  line.add(mark(TAILOR_LOG_EXECUTION_END, 0, 8), 300);
  EXPECT_TRUE(line.at(100).execution_lost);
  EXPECT_EQ(line.at(250), (ThreadContext{8, 4, 0, 0}));
  EXPECT_EQ(line.at(300), ThreadContext{});
}

TEST(ThreadTimeline, AThreadWhoseMarksWereLostIsNotForgotten) {
  ThreadTimeline line({});
  line.add(mark(TAILOR_LOG_COMPONENT_BEGIN, 5), 100);
  line.lose();
  line.trim(1000);
  EXPECT_FALSE(line.idle());
  EXPECT_TRUE(line.at(1000).component_lost);
  line.reset(2000);
  line.trim(3000);
  EXPECT_TRUE(line.idle());
}

}  // namespace
}  // namespace tailor::process
