// What a thread's slot says it works on: against the daemon's reading of the log, and as a sampler sees it
// that interrupts the thread.
#include "agent/open_marks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "agent/marks.h"
#include "agent/saved_work.h"
#include "agent/slot_state.h"
#include "agent/thread_area.h"
#include "daemon/process/thread_timeline.h"

namespace tailor::agent::testing {
namespace {

using Record = tailor_log_record;
using Random = std::mt19937_64;

// Few numbers, so that ends often fit, and fit marks further out. Some sequences nest too deep.
std::vector<Record> random_sequence(Random& random, std::uint64_t number) {
  const bool deep = number % 256 == 0;
  std::vector<Record> records(deep ? 160 : 1 + random() % 20);
  for (Record& record : records) {
    std::uint64_t dice = random();
    const auto roll = [&dice](std::uint64_t sides) {
      const std::uint64_t side = dice % sides;
      dice /= sides;
      return side;
    };
    const bool begins = roll(64) < (deep ? 62 : 36);
    const std::uint64_t pair = roll(4);
    record.kind = static_cast<std::uint16_t>(TAILOR_LOG_EXECUTION_BEGIN + 2 * pair + (begins ? 0 : 1));
    record.id = 1 + static_cast<std::uint32_t>(roll(3));
    record.a = 1 + roll(3);
    record.b = pair == 0 ? 10 + roll(2) : 0;
    if (roll(64) == 0) record.kind = TAILOR_LOG_ITERATION;
    if (roll(64) == 0) record.id = UINT32_MAX;
  }
  return records;
}

process::ThreadContext context_of(const tailor_thread_state& state) {
  return {.execution = state.execution,
          .plan = state.plan,
          .pipeline = static_cast<std::uint32_t>(state.work >> 32),
          .component = static_cast<std::uint32_t>(state.work)};
}

using Add = std::function<void(OpenMarks&, const Record&)>;

void add_as_is(OpenMarks& marks, const Record& record) {
  marks.add(record.kind, record.id, record.a, record.b);
}

// How many of that number of sequences end, somewhere, in another state than the daemon's timeline.
std::uint64_t differences(std::uint64_t sequences, const Add& add, OpenMarks begun = {}) {
  const process::Limits limits;
  Random random(42);
  std::uint64_t different = 0;
  for (std::uint64_t number = 0; number < sequences; ++number) {
    process::ThreadTimeline timeline(limits);
    OpenMarks marks = begun;
    bool same = true;
    for (const Record& record : random_sequence(random, number)) {
      timeline.add(record, 1);
      add(marks, record);
      same = same && context_of(marks.now()) == timeline.now();
    }
    different += !same;
  }
  return different;
}

TEST(OpenMarks, SayWhatTheDaemonReadsFromTheLog) {
  EXPECT_EQ(differences(1'000'000, add_as_is), 0u);
}

// Each breaks one rule.
TEST(OpenMarks, ThatFollowOtherRulesAreFound) {
  const Add morsel_shows_component = [](OpenMarks& marks, Record record) {
    if (record.kind == TAILOR_LOG_MORSEL_BEGIN) record.kind = TAILOR_LOG_PIPELINE_BEGIN;
    if (record.kind == TAILOR_LOG_MORSEL_END) record.kind = TAILOR_LOG_PIPELINE_END;
    add_as_is(marks, record);
  };
  EXPECT_GT(differences(1000, morsel_shows_component), 0u);
  const Add ends_alone = [](OpenMarks& marks, const Record& record) {
    const tailor_thread_state before = marks.now();
    add_as_is(marks, record);
    // An execution that is closed from within stays.
    if (record.kind == TAILOR_LOG_PIPELINE_END && marks.now().execution != before.execution)
      marks.add(TAILOR_LOG_EXECUTION_BEGIN, 0, before.execution, before.plan);
  };
  EXPECT_GT(differences(1000, ends_alone), 0u);
  OpenMarks begun;
  begun.add(TAILOR_LOG_PIPELINE_BEGIN, 0, 0, 0);  // one level less is left
  EXPECT_GT(differences(1000, add_as_is, begun), 0u);
}

// ---- As seen at every instruction ----

// The processor traps after each instruction while this flag is set.
constexpr std::uint64_t kTrapFlag = 0x100;

struct Watched {
  const tailor_slot* slot = nullptr;
  std::vector<tailor_thread_state> whole;  // states that may be seen
  std::vector<std::uint64_t> seen;         // how often each of them was
  std::uint64_t torn = 0, instructions = 0;
};
Watched g_watched;

// What a sampler does that stops the thread here: one read of the slot.
void look(int, siginfo_t*, void*) {
  tailor_slot copy;
  std::memcpy(&copy, g_watched.slot, sizeof copy);
  const tailor_thread_state& state = copy.states[copy.state_of & 1];
  ++g_watched.instructions;
  for (std::size_t i = 0; i < g_watched.whole.size(); ++i) {
    if (std::memcmp(&g_watched.whole[i], &state, sizeof state) != 0) continue;
    ++g_watched.seen[i];
    return;
  }
  ++g_watched.torn;
}

void watch_each_instruction(const tailor_slot& slot, std::vector<tailor_thread_state> whole,
                            const std::function<void()>& work) {
  g_watched = {&slot, std::move(whole), {}, 0, 0};
  g_watched.seen.resize(g_watched.whole.size());
  struct sigaction action{}, before{};
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGTRAP, &action, &before), 0);
  // Below the red zone.
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::"i"(kTrapFlag)
      : "memory", "cc");
  work();
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::"i"(~kTrapFlag)
      : "memory", "cc");
  ::sigaction(SIGTRAP, &before, nullptr);
}

constexpr std::uint64_t work_word(std::uint32_t pipeline, std::uint32_t component) {
  return std::uint64_t{pipeline} << 32 | component;
}

class SlotState : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(arenas_->start());
    area_ = arenas_->claim(1);
  }
  void begin_execution(std::uint64_t handle, std::uint64_t plan) {
    mark_execution_begin(*area_, handle, plan);
  }
  void mark(std::uint16_t kind, std::uint32_t id, std::uint64_t a = 0) { mark_in(*area_, kind, id, a, 0); }
  tailor_thread_state state() const { return area_->slot->states[area_->slot->state_of & 1]; }

  std::unique_ptr<ArenaSet> arenas_ = std::make_unique<ArenaSet>(64);
  ThreadArea* area_ = nullptr;
};

TEST_F(SlotState, IsWholeAtEveryInstruction) {
  const std::vector<tailor_thread_state> whole = {{0, 0, 0},
                                                  {0, 0, work_word(0, 9)},
                                                  {0xE1, 0xA1, 0},
                                                  {0xE1, 0xA1, work_word(4, 0)},
                                                  {0xE1, 0xA1, work_word(4, 7)},
                                                  {0xE2, 0xA2, 0},
                                                  {0xE2, 0xA2, work_word(5, 0)}};
  watch_each_instruction(*area_->slot, whole, [this] {
    mark(TAILOR_LOG_COMPONENT_BEGIN, 9);
    begin_execution(0xE1, 0xA1);
    mark(TAILOR_LOG_PIPELINE_BEGIN, 4);
    mark(TAILOR_LOG_COMPONENT_BEGIN, 7);
    begin_execution(0xE2, 0xA2);
    mark(TAILOR_LOG_MORSEL_BEGIN, 5);
    mark(TAILOR_LOG_EXECUTION_END, 0, 0xE2);
    mark(TAILOR_LOG_EXECUTION_END, 0, 0xE1);
    mark(TAILOR_LOG_COMPONENT_END, 9);
  });
  EXPECT_EQ(g_watched.torn, 0u);
  EXPECT_GT(g_watched.instructions, 200u);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_GT(g_watched.seen[i], 0u) << i;
}

// The broken twin: a state in one copy is seen half written.
TEST_F(SlotState, InOneCopyIsTorn) {
  tailor_slot slot{};
  watch_each_instruction(slot, {{0, 0, 0}, {0xE1, 0xA1, 1}}, [&slot] {
    volatile tailor_thread_state& only = slot.states[0];
    only.execution = 0xE1;
    only.plan = 0xA1;
    only.work = 1;
  });
  EXPECT_GT(g_watched.torn, 0u);
}

tailor_thread_state state_of(const ThreadArea& area) {
  return area.slot->states[area.slot->state_of & 1];
}

// What the daemon reads from the area's log behind its first `from` records.
process::ThreadContext read_log(const ThreadArea& area, std::uint64_t from) {
  const process::Limits limits;
  process::ThreadTimeline timeline(limits);
  for (std::uint64_t i = from; i < area.head; ++i) timeline.add(area.records[i & area.mask], 1);
  return timeline.now();
}

bool is_idle(const tailor_thread_state& state) {
  return context_of(state) == process::ThreadContext{};
}

// A log that holds the longest sequence, its ends, and begins of the same marks.
class SavedWork : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(arenas_->start());
    from_ = arenas_->claim(1);
    to_ = arenas_->claim(2);
    work_.size = sizeof work_;
  }

  std::unique_ptr<ArenaSet> arenas_ = std::make_unique<ArenaSet>(1024);
  ThreadArea* from_ = nullptr;
  ThreadArea* to_ = nullptr;
  tailor_saved_work work_{};
};

TEST_F(SavedWork, IsOnTheOtherThreadWhatItWasOnTheFirst) {
  Random random(7);
  std::uint64_t working = 0, differ = 0, left_behind = 0, too_deep = 0;
  for (std::uint64_t number = 0; number < 200'000; ++number) {
    const std::uint64_t first = from_->head, second = to_->head;
    for (const Record& record : random_sequence(random, number))
      mark_in(*from_, record.kind, record.id, record.a, record.b);
    const process::ThreadContext before = context_of(state_of(*from_));
    save_work(*from_, work_);
    left_behind += !is_idle(state_of(*from_)) || !(read_log(*from_, first) == process::ThreadContext{});
    restore_work(*to_, work_);
    too_deep += work_.left_out > 0;
    if (work_.left_out == 0) {
      working += !(before == process::ThreadContext{});
      differ += !(context_of(state_of(*to_)) == before) || !(read_log(*to_, second) == before);
    }
    save_work(*to_, work_);
  }
  EXPECT_EQ(differ, 0u);
  EXPECT_EQ(left_behind, 0u);
  EXPECT_GT(working, 10'000u) << "else little was compared";
  EXPECT_GT(too_deep, 0u);
}

// The broken twin: without the marks that are open further out, an end of one of them fits nothing.
TEST_F(SavedWork, WithoutItsOuterMarksIsAnother) {
  mark_execution_begin(*from_, 0xE1, 0xA1);
  mark_in(*from_, TAILOR_LOG_PIPELINE_BEGIN, 4, 0, 0);
  mark_in(*from_, TAILOR_LOG_COMPONENT_BEGIN, 7, 0, 0);
  save_work(*from_, work_);
  ASSERT_EQ(work_.count, 3u);
  tailor_saved_work inner = work_;
  inner.count = 1;
  inner.marks[0] = work_.marks[2];
  const auto end_pipeline = [this](const tailor_saved_work& work) {
    restore_work(*to_, work);
    mark_in(*to_, TAILOR_LOG_PIPELINE_END, 4, 0, 0);
    const tailor_thread_state state = state_of(*to_);
    tailor_saved_work rest{};
    rest.size = sizeof rest;
    save_work(*to_, rest);
    return state;
  };
  EXPECT_EQ(end_pipeline(work_).execution, 0xE1u);
  EXPECT_EQ(end_pipeline(work_).work, 0u) << "the component was begun within the pipeline";
  EXPECT_EQ(end_pipeline(inner).work, work_word(0, 7));
}

TEST_F(SavedWork, HasTheTag) {
  from_->slot->tag = 0x1234;
  mark_execution_begin(*from_, 0xE1, 0xA1);
  save_work(*from_, work_);
  EXPECT_EQ(from_->slot->tag, 0u);
  EXPECT_EQ(to_->slot->tag, 0u);
  restore_work(*to_, work_);
  EXPECT_EQ(to_->slot->tag, 0x1234u);
  EXPECT_EQ(state_of(*to_).plan, 0xA1u);
}

TEST_F(SavedWork, OfMarksBeyondThoseThatFitTheOuterOnesAreKept) {
  mark_execution_begin(*from_, 0xE1, 0xA1);
  for (std::uint32_t i = 1; i <= TAILOR_SAVED_MARKS; ++i)
    mark_in(*from_, TAILOR_LOG_COMPONENT_BEGIN, i, 0, 0);
  save_work(*from_, work_);
  EXPECT_EQ(work_.count, static_cast<std::uint32_t>(TAILOR_SAVED_MARKS));
  EXPECT_EQ(work_.left_out, 1u);
  restore_work(*to_, work_);
  EXPECT_EQ(state_of(*to_).work, work_word(0, TAILOR_SAVED_MARKS - 1));
  mark_in(*to_, TAILOR_LOG_COMPONENT_END, TAILOR_SAVED_MARKS, 0, 0);  // of the one that was not kept
  EXPECT_EQ(state_of(*to_).work, work_word(0, TAILOR_SAVED_MARKS - 1));
}

// It may come from anywhere in the engine's memory.
TEST_F(SavedWork, ThatNobodySavedDoesNothing) {
  std::memset(&work_, 0xFF, sizeof work_);
  work_.tag = 0;
  restore_work(*to_, work_);
  EXPECT_TRUE(is_idle(state_of(*to_)));
  EXPECT_EQ(read_log(*to_, 0), process::ThreadContext{});
}

TEST_F(SlotState, IsEmptyForTheNextThread) {
  begin_execution(0xE1, 0xA1);
  mark(TAILOR_LOG_PIPELINE_BEGIN, 4);
  EXPECT_EQ(state().execution, 0xE1u);
  EXPECT_EQ(state().plan, 0xA1u);
  EXPECT_EQ(state().work, work_word(4, 0));
  Arena::give_back(*area_);
  EXPECT_EQ(state().execution, 0u);
  EXPECT_EQ(state().work, 0u);
  Arena::begin_use(*area_, 2);
  mark(TAILOR_LOG_PIPELINE_END, 4);  // of the thread before: fits nothing
  EXPECT_EQ(state().execution, 0u);
  mark(TAILOR_LOG_COMPONENT_BEGIN, 3);
  EXPECT_EQ(state().work, work_word(0, 3));
}

}  // namespace
}  // namespace tailor::agent::testing
