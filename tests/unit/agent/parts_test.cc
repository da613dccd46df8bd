// The agent's smaller parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "agent/background.h"
#include "agent/components.h"
#include "agent/live_set.h"
#include "agent/plan_slots.h"
#include "agent/thread_area.h"
#include "agent/utf8.h"

namespace tailor::agent::testing {
namespace {

std::string sanitized(std::string text) {
  sanitize_utf8(text);
  return text;
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  EXPECT_EQ(sanitized(""), "");
  EXPECT_EQ(sanitized("plain \x01 \x7F"), "plain \x01 \x7F");
  EXPECT_EQ(sanitized("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88"), "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88");
}

TEST(Utf8, ReplacesWhatIsNot) {
  EXPECT_EQ(sanitized("\xFF"), "?");
  EXPECT_EQ(sanitized("a\xC3"), "a?");
  EXPECT_EQ(sanitized("\xC0\xAF"), "??");            // overlong
  EXPECT_EQ(sanitized("\xE0\x80\xAF"), "???");       // overlong
  EXPECT_EQ(sanitized("\xED\xA0\x80"), "???");       // surrogate
  EXPECT_EQ(sanitized("\xF4\x90\x80\x80"), "????");  // beyond U+10FFFF
  EXPECT_EQ(sanitized("\xE2\x82z"), "??z");
  EXPECT_EQ(sanitized("\xA9\xC3\xA9"), "?\xC3\xA9");
}

TEST(PlanSlots, GenerationsTellReusedSlotsApart) {
  auto slots = std::make_unique<PlanSlots>();
  std::uint64_t first = slots->take();
  std::set<std::uint64_t> ids{first};
  EXPECT_TRUE(slots->free(first));
  EXPECT_FALSE(slots->free(first));
  EXPECT_FALSE(slots->free(12345));
  for (std::uint32_t i = 1; i < TAILOR_TAG_PLAN_SLOTS; ++i) EXPECT_TRUE(ids.insert(slots->take()).second);
  std::uint64_t again = slots->take();
  EXPECT_EQ(PlanSlots::slot(again), PlanSlots::slot(first));
  EXPECT_NE(PlanSlots::generation(again), PlanSlots::generation(first));
  EXPECT_TRUE(ids.insert(again).second);
  EXPECT_EQ(slots->take(), 0u);      // all taken
  EXPECT_FALSE(slots->free(first));  // an old id does not free the slot's new plan
  EXPECT_TRUE(slots->free(again));
}

TEST(PlanSlots, ThreadsNeverShareASlot) {
  auto slots = std::make_unique<PlanSlots>();
  std::vector<std::vector<std::uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(slots->take());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint32_t> distinct;
  for (const auto& mine : taken) {
    for (std::uint64_t id : mine) EXPECT_TRUE(distinct.insert(PlanSlots::slot(id)).second);
  }
}

TEST(Components, ANameKeepsItsNumber) {
  auto components = std::make_unique<Components>();
  EXPECT_EQ(components->find_or_add("parse").id, 1u);
  EXPECT_EQ(components->find_or_add("compile").id, 2u);
  auto again = components->find_or_add("parse");
  EXPECT_EQ(again.id, 1u);
  EXPECT_FALSE(again.is_new);
  for (std::uint32_t i = 2; i < Components::kMax; ++i) components->find_or_add("c" + std::to_string(i));
  EXPECT_EQ(components->find_or_add("one too many").id, 0u);
  EXPECT_EQ(components->find_or_add("compile").id, 2u);
}

LiveSet::Outcome apply(LiveSet& live, MessageKind kind, std::uint64_t key, std::uint64_t owner = 0) {
  static const std::string bytes(100, 'b');
  return live.apply({{kind, 0, key, owner}, bytes});
}

std::vector<std::uint64_t> keys(const LiveSet& live) {
  std::vector<std::uint64_t> keys;
  live.for_each_from(0, [&](LiveSet::Order, const LiveSet::Entry& entry) {
    keys.push_back(entry.head.key);
    return true;
  });
  return keys;
}

TEST(Background, LooksSeldomForADaemonThatItTellsNothing) {
  EXPECT_EQ(listen_ms(0), 250);
  EXPECT_EQ(listen_ms(2999), 250);
  EXPECT_EQ(listen_ms(3000), 5000);
  EXPECT_EQ(listen_ms(1'000'000'000), 5000);
}

TEST(LiveSet, KeepsWhatIsLiveInOrder) {
  LiveSet live;
  using Outcome = LiveSet::Outcome;
  EXPECT_EQ(apply(live, MessageKind::kPlanLoad, 5), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kCodeLoad, 3), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kExecutionBegin, 9), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kRegionKind, 1, 5), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 3), Outcome::kEnded);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 3), Outcome::kNothing);
  EXPECT_THAT(keys(live), ::testing::ElementsAre(5, 9, 1));
  EXPECT_EQ(apply(live, MessageKind::kPlanUnload, 5), Outcome::kEnded);  // and the region kind with it
  EXPECT_THAT(keys(live), ::testing::ElementsAre(9));
  EXPECT_EQ(live.bytes(), 100u);
}

TEST(LiveSet, SaidAgainCountsOnce) {
  LiveSet live;
  apply(live, MessageKind::kCodeLoad, 3);
  apply(live, MessageKind::kCodeLoad, 3);
  apply(live, MessageKind::kBarrier, 1);
  apply(live, MessageKind::kBarrier, 2);
  EXPECT_THAT(keys(live), ::testing::ElementsAre(3, 2));
  live.end_barrier(1);
  EXPECT_EQ(live.size(), 2u);
  live.end_barrier(2);
  EXPECT_EQ(live.size(), 1u);
}

TEST(LiveSet, StaysSmallUnderChurn) {
  LiveSet live;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    apply(live, MessageKind::kPlanLoad, i);
    apply(live, MessageKind::kRegionKind, i, i);
    apply(live, MessageKind::kExecutionBegin, i);
    apply(live, MessageKind::kExecutionEnd, i);
    apply(live, MessageKind::kPlanUnload, i);
  }
  EXPECT_EQ(live.size(), 0u);
  EXPECT_EQ(live.bytes(), 0u);
}

TEST(LiveSet, IsBounded) {
  LiveSet live(400);
  std::string big(100, 'x');
  auto load = [&](std::uint64_t key) { return live.apply({{MessageKind::kCodeLoad, 0, key, 0}, big}); };
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(load(i), LiveSet::Outcome::kKept);
  EXPECT_EQ(load(5), LiveSet::Outcome::kTooLarge);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 5), LiveSet::Outcome::kNothing);
}

TEST(ArenaSet, ThreadsShareNothingAndAreasAreUsedAgain) {
  auto arenas = std::make_unique<ArenaSet>(64);
  ASSERT_TRUE(arenas->start());
  std::set<ThreadArea*> claimed;
  for (std::uint32_t i = 0; i < Arena::kAreas + 1; ++i)
    EXPECT_TRUE(claimed.insert(arenas->claim(i + 1)).second);
  ASSERT_NE(arenas->at(1), nullptr);
  EXPECT_EQ(arenas->at(2), nullptr);
  ThreadArea* area = *claimed.begin();
  std::uint64_t head = area->head;
  std::uint32_t use = area->use;
  Arena::give_back(*area);
  EXPECT_EQ(area->slot->state, static_cast<std::uint32_t>(TAILOR_AREA_CLOSED));
  std::set<ThreadArea*> seen;
  for (int i = 0; i < 200 && !seen.contains(area); ++i) {
    ThreadArea* next = arenas->claim(1000);
    seen.insert(next);
    Arena::give_back(*next);
  }
  ASSERT_TRUE(seen.contains(area));
  EXPECT_EQ(arenas->at(2), nullptr);
  EXPECT_EQ(area->use, use + 1);
  EXPECT_EQ(area->head, head + 1);  // the log goes on
  EXPECT_EQ(arenas->log_records(), Arena::kAreas + 1 + seen.size());
}

}  // namespace
}  // namespace tailor::agent::testing
